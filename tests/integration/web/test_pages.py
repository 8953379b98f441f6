"""The pages show what there is, and take what people give."""

import json
import re
from html import unescape
from urllib.parse import urlencode

import pytest

from tests.webserver.fixtures import Library
from tests.webserver.rows import NAME, PASSWORD
from tests.webserver.server import Visitor, in_collection


def shown(text: str) -> list[int]:
    """The numbers of the stories on a page, in the order they are listed."""
    return [int(number) for number in re.findall(r"<h2><a [^>]*>Story (\d+)</a></h2>", text)]


def test_the_list_pages_by_key_newest_first_and_back_again(library: Library) -> None:
    first = library.visitor.get("/")
    assert shown(first.text) == list(range(69, 9, -1))
    older = re.search(r'href="(\?before=[^"]+)"', first.text)
    assert older
    second = library.visitor.get("/" + older.group(1))
    assert shown(second.text) == list(range(9, -1, -1))
    assert 'href="?before=' not in second.text
    newer = re.search(r'href="(\?after=[^"]+)"', second.text)
    assert newer
    assert shown(library.visitor.get("/" + newer.group(1)).text) == list(range(69, 9, -1))
    assert library.visitor.get("/?before=nonsense").status == 404


def test_every_word_of_a_search_has_to_be_in_title_or_url(library: Library) -> None:
    assert shown(library.visitor.get("/?q=STORY+site7.example").text) == [7]
    nothing = library.visitor.get("/?q=%3Cscript%3E").text
    assert "Nothing matches" in nothing
    assert "<script>" not in nothing


COMMON = {}
COMMON["sqlite"] = """
from archivebox.plugins.search_backend_sqlite.index import Index
with Index()._transaction() as database:
    rows = [(number, f"{number:032x}") for number in range(20_000)]
    database.executemany("INSERT INTO text VALUES (?, ?, 'dom', 'text.txt')", rows)
    database.executemany("INSERT INTO words (rowid, content) VALUES (?, 'everywhere')", ((key,) for key, _ in rows))
"""
COMMON["postgresql"] = """
from django.db import connection
from archivebox.search.backend import chosen_backend
chosen_backend().flush()
connection.cursor().execute('''
    INSERT INTO search_text SELECT lpad(to_hex(n), 32, '0')::uuid, 'dom', 'text.txt', 0, false, 'everywhere:1'
    FROM generate_series(1, 20000) AS n
''')
"""


def test_a_card_shows_its_picture_and_what_was_kept(library: Library) -> None:
    page = library.visitor.get("/").text
    pictures = f"http://pictures.localhost:{library.server.replay_port}/"
    assert re.search(rf'<img src="{re.escape(pictures)}[^"]+/screenshot/screenshot.png"', page)
    assert 'aria-label="Saved: Page, Picture"' in page
    assert "1 failed" in page


def links(text: str) -> dict[str, str]:
    """What the links of a page are called, and where they lead."""
    found = re.findall(r'<a (?:[^>]*? )?href="([^"]*)"[^>]*>(.*?)</a>', text, re.DOTALL)
    return {
        " ".join(re.sub("<[^>]+>", " ", inside).split()): address.replace("&amp;", "&") for address, inside in found
    }


def test_a_library_of_more_than_one_part_says_how_many_pages_it_has(library: Library) -> None:
    said = re.search(r'id="reading"[^>]*><span>([^<]*)', library.visitor.get("/").text)
    assert said
    assert said[1].strip().startswith("70 pages")


def test_a_search_leads_to_its_feed(library: Library) -> None:
    page = library.visitor.get("/?q=story+7").text
    link = re.search(r'href="(/tokens/\?feed=[^"]+)"', page)
    assert link
    made = library.visitor.post(unescape(link[1]), label="Reader", scope="feed", days="30").text
    feeds = [unescape(found) for found in re.findall(r"<code>(http[^<]+)</code>", made)]
    kinds = [library.server.ask("/" + feed.split("/", 3)[3]).headers["content-type"] for feed in feeds]
    assert [kind.partition(";")[0] for kind in kinds] == ["application/rss+xml", "application/json"]
    assert "Story 7" in library.server.ask("/" + feeds[0].split("/", 3)[3]).text


def test_a_facet_narrows_the_list_and_gives_it_back(library: Library) -> None:
    offered = links(library.visitor.get("/?q=story").text)
    assert offered["news 70"] == "?q=story+%23news"
    narrowed = library.visitor.get("/" + offered["Failed 1"]).text
    assert shown(narrowed) == [69]
    assert "news" not in links(library.visitor.get("/?q=not+%23news").text), "what is left out is not chosen"
    assert links(narrowed)["Failed"] == "?q=story"
    assert links(narrowed)["news 1"] == "?q=story+is%3Afailed+%23news"


def test_what_was_found_is_shown_with_its_words_marked(library: Library) -> None:
    address = f"/snapshots/{library.other}/"
    library.visitor.post(f"{address}notes/", form_at=address, text="<b>ripe</b> Quinces, for jelly")
    page = library.visitor.get("/?q=quinces").text
    assert "&lt;b&gt;ripe&lt;/b&gt; <mark>Quinces</mark>, for jelly" in page
    assert library.visitor.get("/?q=note:quinces").text.count("<mark>") == 0, "no word was searched for"
    assert "<mark>" not in library.visitor.get("/?q=story").text, "the title says it"


def test_an_empty_box_offers_former_searches_tags_and_examples(library: Library) -> None:
    for query in ("story", "is:failed", "nothing-has-this", "story"):
        library.visitor.get(f"/?q={query}")
    offered = json.loads(library.visitor.get("/search/help/?q=").text)["suggestions"]
    assert [one["text"] for one in offered][:2] == ["story", "is:failed"], (
        "the latest first, what found nothing left out"
    )
    assert ("#news", "tag") in [(one["text"], one["meaning"]) for one in offered]
    assert ("http:404", "pages answered with status 404") in [(one["text"], one["meaning"]) for one in offered]
    strangers = library.stranger()
    strangers.log_in("reader", PASSWORD)
    theirs = json.loads(strangers.get("/search/help/?q=").text)["suggestions"]
    assert "story" not in [one["text"] for one in theirs]


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("oldest", list(range(60))),
        ("host", sorted(range(70), key=str)[:60]),
        ("title", sorted(range(70), key=lambda number: (str(number), number))[:60]),
        ("size", sorted(range(70), reverse=True)[:60]),
        ("worst", sorted(range(70), key=lambda number: (number % 7, number))[:60]),
    ],
)
def test_the_list_can_be_sorted_and_still_pages_by_key(library: Library, sort: str, first: list[int]) -> None:
    page = library.visitor.get(f"/?sort={sort}").text
    assert shown(page) == first
    rest = library.visitor.get("/" + links(page)["Show more"]).text
    assert sorted(first + shown(rest)) == list(range(70))
    assert shown(library.visitor.get("/" + links(rest)["Back"]).text) == first


def test_a_list_that_grows_in_place_is_sent_alone(library: Library) -> None:
    cookie = f"archivebox_session={library.visitor.jar['archivebox_session']}"
    part = library.server.ask("/?view=list", Cookie=cookie, HX_Request="true").text
    assert len(shown(part)) == 60
    assert "<html" not in part
    assert 'id="pager"' in part


def test_a_look_that_was_chosen_is_kept(library: Library) -> None:
    somebody = library.stranger()
    somebody.log_in(NAME, PASSWORD)
    assert '<table class="sheet"' in somebody.get("/?view=table").text
    assert (
        somebody.post("/look/", form_at="/", theme="dark", opens="original", next="/tags/").headers["location"]
        == "/tags/"
    )
    page = somebody.get("/").text
    assert 'data-theme="dark"' in page
    assert '<table class="sheet"' in page
    assert 'href="http://site69.example/story/69"' in page
    answer = somebody.post("/look/", form_at="/", theme="<b>", next="//evil.example/")
    assert answer.headers["location"] == "/"
    assert 'data-theme="dark"' in somebody.get("/").text


def test_the_chosen_format_is_framed_in_a_sandbox_under_our_banner(library: Library) -> None:
    page = library.visitor.get(f"/snapshots/{library.snapshot}/?view=singlefile").text
    frame = re.search(r"<iframe [^>]+>", page)
    assert frame
    assert f'src="http://{library.snapshot}.localhost:{library.server.replay_port}/' in frame.group()
    assert 'sandbox="allow-same-origin allow-top-navigation-by-user-activation"' in frame.group()
    assert page.index("Archived copy") < frame.start()


def test_urls_go_through_the_one_door(library: Library) -> None:
    urls = "http://added.example/\n\nnot a url\njavascript:alert(1)\nhttp://added.example/two\nno\nno url\nnone\n"
    answer = library.visitor.post("/add/", urls=urls, depth="1", tags="one, two", most="500")
    assert answer.status == 302
    assert answer.headers["location"] == "/", "several come into the Library"
    page = library.visitor.get(answer.headers["location"]).text
    assert re.search(r'Archiving 2 pages. <a href="/crawls/[^"]+">See the crawl</a>', page)
    assert "Line 3: " in page
    assert "Line 4: " in page
    assert "2 more lines were skipped" in page
    code = (
        "from archivebox.core.models import Snapshot\n"
        "for s in Snapshot.objects.filter(url__contains='added.example').order_by('pk'):\n"
        "    limits = s.crawl.max_depth, s.crawl.config['MAX_URLS']\n"
        "    print(s.url, *limits, s.created_by.username, *sorted(t.name for t in s.tags.all()))"
    )
    assert in_collection(library.server.folder, code).splitlines() == [
        "http://added.example/ 1 502 eve one two",
        "http://added.example/two 1 502 eve one two",
    ]


def test_who_adds_several_stays_where_they_were_if_that_is_here(library: Library) -> None:
    urls = "http://stays.example/1\nhttp://stays.example/2"
    there = library.visitor.post("/add/", urls=urls, depth="0", next="/tags/?show=all").headers["location"]
    assert there == "/tags/?show=all"
    library.visitor.headers = {"X-Live": "1"}
    assert "Archiving 2 pages" not in library.visitor.get(there).text, "it is for whoever looks"
    library.visitor.headers = {}
    assert "Archiving 2 pages" in library.visitor.get(there).text
    assert library.visitor.post("/add/", urls=urls, depth="0", next="http://else.example/").headers["location"] == "/"
    assert library.visitor.post("/add/", urls=urls, depth="0", next="/add/?url=x").headers["location"] == "/"


def test_the_bookmark_leads_to_the_form_with_address_and_title_and_adds_nothing(library: Library) -> None:
    said = urlencode({"url": "http://read.example/?a=1&b=2", "title": 'On "Keeping" Pages'})
    onward = library.server.ask(f"/add/page/?{said}")  # from a page of somebody else a browser sends no cookie
    assert onward.status == 200
    address = re.search(r'content="0; url=(/add/[^"]*)"', onward.text)
    assert address
    form = library.visitor.get(unescape(address[1])).text
    assert ">\nhttp://read.example/?a=1&amp;b=2</textarea>" in form
    assert 'value="On &quot;Keeping&quot; Pages"' in form
    assert 'name="title"' not in library.visitor.get("/add/").text
    answer = library.visitor.post("/add/", urls="http://read.example/?a=1&b=2", title="On Keeping Pages", depth="0")
    assert answer.headers["location"].startswith("/snapshots/"), "one page is looked at while it is captured"
    assert "On Keeping Pages" in library.visitor.get(answer.headers["location"]).text
    bookmark = re.search(r'id="bookmark" href="(javascript:[^"]+)"', form)
    assert bookmark
    assert f"http://127.0.0.1:{library.server.port}/add/page/?url=" in bookmark[1]


def test_nothing_valid_is_said_line_by_line_and_adds_nothing(library: Library) -> None:
    answer = library.visitor.post("/add/", urls="file:///etc/passwd\n--version\n<script>alert(1)</script>", depth="0")
    assert answer.status == 422
    assert "Line 3" in answer.text
    assert "<script>alert" not in answer.text
    assert library.visitor.post("/add/", urls="", depth="0").status == 422
    assert library.visitor.post("/add/", urls="http://a.example/", depth="99").status == 422
    assert library.visitor.post("/add/", urls="http://a.example/", depth="0", tags="tag, " * 300).status == 422
    assert 'name="tags" maxlength' not in library.visitor.get("/add/").text


def test_a_look_first_says_what_is_new_known_and_no_url_and_adds_nothing(library: Library) -> None:
    given = "http://site7.example/story/7\nhttp://looked.example/\nhttp://looked.example/\njavascript:alert(1)"
    page = library.visitor.post("/add/preview/", "/add/", urls=given, depth="1").text
    assert " ".join(re.sub(r"<[^>]+>", " ", page).split()).startswith("1 new 1 already archived 1 cannot be archived")
    assert "Line 4" in page
    assert "/snapshots/" in page
    assert "and every page linked there (any site)" in page
    within = library.visitor.post("/add/preview/", "/add/", urls=given, depth="1", scope="domain", most="500").text
    assert "linked there (the same site and its subdomains), at most 500 of them" in within
    looked = library.visitor.post("/add/", urls=given, depth="0", again="never", look="1").text
    assert "Archives this page" in looked
    if_changed = library.visitor.post("/add/", urls=given, depth="0", again="changed", look="1").text
    assert "Archives 2 pages" in if_changed
    assert "and saved only when changed" in if_changed
    assert "looked.example" in looked, "what was typed is still there"
    count = (
        "from archivebox.core.models import Snapshot; print(Snapshot.objects.filter(url__contains='looked').count())"
    )
    assert in_collection(library.server.folder, count) == "0"


def test_choices_are_kept_under_a_name_and_used_again(library: Library) -> None:
    kept = library.visitor.post("/add/", urls="", depth="2", tags="deep ones", preset="Deep", save="1")
    assert "Saved as “Deep”" in kept.text
    again = library.visitor.post("/add/", urls="http://typed.example/", depth="0", use="Deep").text
    assert 'value="deep ones"' in again
    assert '<option value="2" selected>' in again
    assert "http://typed.example/" in again


def test_pages_that_are_not_there_say_so_in_our_look(library: Library) -> None:
    answer = library.visitor.get("/nowhere/")
    assert answer.status == 404
    assert "Page not found" in answer.text


def test_the_palette_offers_places_and_pages(library: Library) -> None:
    offered = links(library.visitor.get("/palette/?q=story+7").text)
    assert "Story 7 http://site7.example/story/7" in offered
    assert links(library.visitor.get("/palette/?q=crawl").text)["Crawls"] == "/crawls/"
    assert library.visitor.get("/palette/?q=is:").status == 200, "it is still being typed"
    assert library.server.ask("/palette/?q=story").status == 302


@pytest.mark.parametrize("path", ["/", "/snapshots/{0.snapshot}/", "/crawls/{0.crawl}/", "/api/v1/snapshots", "/tags/"])
def test_every_page_is_sent_compressed_to_who_takes_that(library: Library, path: str) -> None:
    reader = Visitor(library.server, dict(library.visitor.jar), {"Accept_Encoding": "gzip"})
    answer = reader.get(path.format(library))
    assert (answer.status, answer.headers.get("content-encoding")) == (200, "gzip")
    assert "Accept-Encoding" in answer.headers["vary"]


def test_a_refused_request_writes_one_line_to_the_log(library: Library) -> None:
    reader = library.stranger()
    assert reader.log_in("reader", PASSWORD).status == 302
    assert reader.get("/people/?marked").status == 403
    assert library.server.ask("/", host="elsewhere.example").status == 400
    log = (library.server.folder / "logs" / "web.log").read_text()
    assert "Traceback" not in log
    assert "/people/" in log
