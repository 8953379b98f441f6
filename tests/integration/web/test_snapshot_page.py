"""The page of one snapshot: the best of what was kept first, safely shown, and all that people do to it."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from archivebox import hooks
from archivebox.accounts.models import Account
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.evidence.signature import sign
from archivebox.core.models import ArchiveResult, Note, Snapshot
from archivebox.core.versions.unchanged_text import retire_unchanged
from archivebox.lib.files import mimetype_of
from tests import factories
from tests.status_triggers import arrange
from tests.webserver.markup import page_of
from tests.webserver.recording import Page, record

pytestmark = pytest.mark.usefixtures("pages", "collection")
URL = "https://example.org/page"
EVIL = '<h1>Head</h1><script>alert(1)</script><p onclick="x()">Text <a href="javascript:x()">one</a> <a href="https://b.example/?a=1">two</a></p>'


def passer_by() -> Client:
    return Client(SERVER_NAME="localhost")


@pytest.fixture
def client() -> Client:
    client = passer_by()
    client.force_login(User.objects.create_superuser("ada", password="correct horse battery"))
    return client


@pytest.fixture
def snapshot() -> Snapshot:
    return kept(URL)


def kept(url: str, status: str = "sealed") -> Snapshot:
    found: Snapshot = factories.crawl(url).snapshot_set.get()
    arrange(Snapshot.objects.filter(pk=found.pk), status=status, http_status=200, mime_type="text/html", retry_at=None)
    found.refresh_from_db()
    return found


def left(snapshot: Snapshot, plugin: str, files: Mapping[str, str], step: int = 50, **more: Any) -> ArchiveResult:
    """A result with its files."""
    folder = snapshot.path / plugin
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    about = {name: {"size": len(text), "mimetype": mimetype_of(name)} for name, text in files.items()}
    columns = {"status": "succeeded", "hook_name": f"on_Snapshot__{step}_{plugin}.py"} | more
    result: ArchiveResult = ArchiveResult.objects.create(
        snapshot=snapshot, plugin=plugin, pwd=str(folder), output_files=about,
        output_size=sum(map(len, files.values())), **columns,
    )  # fmt: skip
    return result


def page(client: Client, snapshot: Snapshot, query: str = "", status: int = 200) -> str:
    answer = client.get(f"/snapshots/{snapshot.pk}/{query}")
    assert answer.status_code == status
    return page_of(answer)


def test_the_best_copy_is_shown_first_and_the_address_says_which_is_chosen(client: Client, snapshot: Snapshot) -> None:
    left(snapshot, "dom", {"output.html": "<p>bare</p>"})
    left(snapshot, "screenshot", {"screenshot.png": "png"})
    left(snapshot, "singlefile", {"singlefile.html": "<p>whole</p>"})

    shown = page(client, snapshot)
    assert re.findall(r'href="\?view=([a-z-]+)"[^>]*data-key="(\d)"', shown) == [
        ("singlefile", "1"), ("screenshot", "2"), ("files", "3"),
    ]  # fmt: skip
    assert "/singlefile/singlefile.html" in shown.partition("<iframe")[2].partition(">")[0]
    assert re.search(r'href="\?view=screenshot" aria-current="true"', page(client, snapshot, "?view=screenshot"))
    assert "/dom/output.html" in page(client, snapshot, "?view=dom").partition("<iframe")[2].partition(">")[0]


def test_a_page_of_which_nothing_came_says_why_and_offers_to_try_again(client: Client, snapshot: Snapshot) -> None:
    left(snapshot, "chrome", {}, 30, status="failed", reason="declared", output_str="example.org cannot be reached")
    left(snapshot, "hashes", {"hashes.json": "{}"}, 93)

    shown = page(client, snapshot)
    assert "not archived" in shown
    assert "Nothing was archived: example.org cannot be reached." in shown
    assert "<iframe" not in shown
    assert "example.org cannot be reached" in page(client, snapshot, "?view=files")


@pytest.mark.parametrize("status", ["failed", "backoff"])
def test_an_answer_that_stays_in_place_of_a_page_is_shown_as_what_it_is(
    client: Client, snapshot: Snapshot, status: str
) -> None:
    arrange(Snapshot.objects.filter(pk=snapshot.pk), http_status=503)
    left(snapshot, "chrome", {}, 30, status=status, reason="server_busy")
    left(snapshot, "singlefile", {"singlefile.html": "<p>no service</p>"})

    shown = page(client, snapshot)
    is_final = status == "failed"
    assert ("/singlefile/singlefile.html" in shown.partition("<iframe")[2].partition(">")[0]) is is_final
    assert ("The answer 503 (Service Unavailable) was archived instead of the page." in shown) is is_final
    assert ("Retries by itself." in shown) is not is_final


def test_a_page_that_is_still_captured_says_so_until_something_is_kept(client: Client) -> None:
    waiting = kept(URL, status="queued")
    assert "Waiting for its turn." in page(client, waiting)
    assert "Select a file." not in page(client, waiting)

    left(waiting, "screenshot", {"screenshot.png": "png"})
    assert "/screenshot/screenshot.png" in page(client, waiting)


def test_what_an_article_brings_cannot_run_and_loads_only_what_was_kept_beside_it(
    client: Client, snapshot: Snapshot
) -> None:
    pictures = '<img src="pictures/a b.png"><img src="https://live.example/x.png"><img src="//live.example/y.png">'
    left(snapshot, "article", {"article.html": f"<title>T</title><style>p{{}}</style>{EVIL}{pictures}"})

    text = (
        page(client, snapshot, "?view=article-reader")
        .partition('<article class="article"')[2]
        .partition("</article>")[0]
    )
    assert "<h1>Head</h1>" in text
    assert re.findall(r'<img src="([^"]+)"', text)[0].endswith("/article/pictures/a%20b.png")
    assert re.search(r'<a href="/web/\d{14}/https://b.example/\?a=1"', text)
    for gone in ("<script", "alert", "onclick", "javascript:", "live.example", "<style", "p{}"):
        assert gone not in text


@dataclass(frozen=True)
class Shown:
    """A file of a plugin, under which key it is looked at, and what is then seen."""

    plugin: str
    view: str
    file: str
    text: str
    seen: str


KINDS = (
    Shown("htmltotext", "htmltotext-text", "h.txt", "a <b> & c", "a &lt;b&gt; &amp; c"),
    Shown(
        "headers", "headers-headers", "headers.json", '{"response":{"status":204,"headers":{"A":"<s>"}}}', "&lt;s&gt;"
    ),
    Shown("headers", "headers-headers", "headers.json", "[1, 2", "No response was recorded"),
    Shown(
        "responses", "responses-responses", "index.jsonl", '{"url":"https://x/<y>","status":200}\n{', "https://x/&lt;y"
    ),
    Shown("hashes", "hashes-evidence", "hashes.json", '{"root_hash":"abc123","files":{}}', "abc123"),
    Shown("ytdlp", "ytdlp", "v.mp4", "mp4", "<video controls"),
    Shown("pdf", "pdf", "output.pdf", "%PDF", "/pdf/output.pdf"),
    Shown("staticfile", "staticfile", "data.zip", "PK", "Your browser cannot show this file type."),
)


@pytest.mark.parametrize("one", KINDS, ids=lambda one: f"{one.view}-{len(one.text)}")
def test_every_kind_of_format_is_shown_for_what_it_is(client: Client, snapshot: Snapshot, one: Shown) -> None:
    left(snapshot, one.plugin, {one.file: one.text})

    assert one.seen in page(client, snapshot, f"?view={one.view}")


def test_files_are_a_tree_and_nothing_outside_of_it_is_read(client: Client, snapshot: Snapshot) -> None:
    left(snapshot, "wget", {"site/deep/a.txt": "inside <it>"})
    (DATA_FOLDER.root / "secret.txt").write_text("not for readers")

    assert "inside &lt;it&gt;" in page(client, snapshot, "?view=files&file=wget%2Fsite%2Fdeep%2Fa.txt")
    for name in ("../../secret.txt", "wget/../../../secret.txt", "/etc/passwd", "wget/none.txt", ""):
        assert "Select a file." in page(client, snapshot, f"?view=files&file={name}")


def test_a_link_named_as_an_output_is_not_followed(client: Client, snapshot: Snapshot) -> None:
    (DATA_FOLDER.root / "secret.txt").write_text("not for readers")
    result = left(snapshot, "htmltotext", {"h.txt": "x"})
    (snapshot.path / "htmltotext" / "h.txt").unlink()
    (snapshot.path / "htmltotext" / "h.txt").symlink_to(DATA_FOLDER.root / "secret.txt")

    assert result.output_files
    assert "not for readers" not in page(client, snapshot, "?view=htmltotext-text")


def test_tags_are_set_and_notes_have_time_and_author(client: Client, snapshot: Snapshot) -> None:
    at = f"/snapshots/{snapshot.pk}/"
    client.post(f"{at}tags/", {"tags": "to read,  fruit, !"})
    client.post(f"{at}tags/", {"tags": "fruit, new"})
    assert sorted(snapshot.tags.values_list("name", flat=True)) == ["fruit", "new"]
    many = [f"one of many tags {number}" for number in range(200)]
    client.post(f"{at}tags/", {"tags": ", ".join(many)})
    assert sorted(snapshot.tags.values_list("name", flat=True)) == sorted(many)
    assert '<a href="/?q=%23%22one+of+many+tags+199%22">' in page(client, snapshot)
    client.post(f"{at}tags/", {"tags": "a," * 1_001})
    assert "1,000 tags at most" in page(client, snapshot)
    assert snapshot.tags.count() == 200

    client.post(f"{at}notes/", {"text": "see <this>\nagain"})
    assert "see &lt;this&gt;<br>again" in page(client, snapshot)
    note = Note.objects.get()
    assert note.author == User.objects.get(username="ada")
    other = passer_by()
    other.force_login(User.objects.create_user("eve"))
    other.post(f"{at}notes/", {"remove": str(note.pk)})
    assert Note.objects.exists()
    client.post(f"{at}notes/", {"remove": str(note.pk)})
    assert not Note.objects.exists()
    client.post(f"{at}notes/", {"text": "x" * 10_001})
    assert "at most 10,000 characters" in page(client, snapshot)


def test_one_hook_or_all_that_failed_run_again(client: Client, snapshot: Snapshot) -> None:
    good = left(snapshot, "title", {"title.txt": "T"}, 54)
    bad = left(snapshot, "wget", {}, 61, status="failed", reason="timeout")

    client.post(f"/snapshots/{snapshot.pk}/retry/")
    assert states(good, bad) == ["succeeded", "queued"]
    client.post(f"/snapshots/{snapshot.pk}/retry/", {"result": str(good.pk)})
    assert states(good, bad) == ["queued", "queued"]
    assert client.post(f"/snapshots/{snapshot.pk}/retry/", {"result": "x"}).status_code == 404


def states(*results: ArchiveResult) -> list[str]:
    return [ArchiveResult.objects.get(pk=one.pk).status for one in results]


def test_a_page_is_captured_again_by_chosen_plugins(client: Client, snapshot: Snapshot) -> None:
    answer = client.post(f"/snapshots/{snapshot.pk}/capture/", {"plugin": ["title", "no-such-plugin"]})

    fresh = Snapshot.objects.exclude(pk=snapshot.pk).get()
    assert (answer.status_code, answer.headers["location"]) == (302, f"/snapshots/{fresh.pk}/")
    assert (fresh.url, fresh.crawl.config) == (URL, {"PLUGINS": ["title"]})


def test_a_page_that_ran_out_of_time_is_captured_again_with_more_of_it(client: Client, snapshot: Snapshot) -> None:
    more = {"more_time": "yes"}
    assert "Allow more time" not in page(client, snapshot)
    left(snapshot, "chrome", {}, 30, status="failed", reason="no_answer")
    assert page(client, snapshot).count('name="more_time" value="yes"') == 2, "in the menu, and where nothing is shown"

    client.post(f"/snapshots/{snapshot.pk}/capture/", more)
    first = Snapshot.objects.exclude(pk=snapshot.pk).get()
    assert first.crawl.config == {"CHROME_PAGELOAD_TIMEOUT": 120, "CHROME_TIMEOUT": 240}
    left(first, "wget", {}, 61, status="failed", reason="timeout:60")
    job = {"kind": "recapture", "all": "yes", "q": "reason:timeout", **more}
    client.post("/jobs/start/", job)
    second = Snapshot.objects.exclude(pk__in=[snapshot.pk, first.pk]).get()
    assert second.crawl.config == {**first.crawl.config, "WGET_TIMEOUT": 240}
    assert 'name="more_time"' in page_of(client.get("/failures/"))


def test_who_may_turn_the_public_archive_on_is_led_there(client: Client, snapshot: Snapshot) -> None:
    link = 'href="/settings/?group=Web#setting-PUBLIC_SNAPSHOTS"'
    assert link in page(client, snapshot)
    assert link in page_of(client.get("/add/"))
    editor = passer_by()
    editor.force_login(Account.objects.create(user=User.objects.create_user("eve"), role="editor").user)
    assert link not in page_of(editor.get("/add/"))


def test_what_is_removed_can_be_brought_back(client: Client, snapshot: Snapshot) -> None:
    client.post(f"/snapshots/{snapshot.pk}/remove/")
    assert "Restore" in page(client, snapshot, status=410)
    assert passer_by().get(f"/snapshots/{snapshot.pk}/").status_code == 302
    client.post(f"/snapshots/{snapshot.pk}/restore/")
    assert "Restored." in page(client, snapshot)


def verified(client: Client, snapshot: Snapshot) -> str:
    return page_of(client.post(f"/snapshots/{snapshot.pk}/verify/", follow=True))


def test_verifying_names_what_changed(client: Client, snapshot: Snapshot) -> None:
    digest = hashlib.sha256(b"one").hexdigest()
    manifest = {"files": {"title/title.txt": {"sha256": digest}}}
    left(snapshot, "title", {"title.txt": "one"}, 54)
    assert "No hashes were kept" in verified(client, snapshot)

    left(snapshot, "hashes", {"hashes.json": json.dumps(manifest)}, 93)
    assert "1 file is unchanged since it was saved." in verified(client, snapshot)
    (snapshot.path / "title" / "title.txt").write_text("two")
    assert "1 changed: title/title.txt." in verified(client, snapshot)
    (snapshot.path / "title" / "title.txt").write_text("one")
    assert "It is not signed" in verified(client, snapshot)
    sign(snapshot.path, DATA_FOLDER.keys, snapshot.pk, snapshot.url)
    assert re.search(
        r"1 file is unchanged since it was saved. The signature of \S+ by this collection", verified(client, snapshot)
    )
    shown = page(client, snapshot, "?view=hashes-evidence")
    assert (snapshot.path / "hashes" / "signature.pem").read_text() in shown
    (snapshot.path / "hashes" / "hashes.json").write_text(json.dumps(manifest, indent=1))
    assert "The list of hashes is not the one that was signed" in verified(client, snapshot)


def test_the_saved_copy_of_a_page_built_by_scripts_comes_first(client: Client, snapshot: Snapshot) -> None:
    record(snapshot.path, {snapshot.url: Page(b"<p>Loading")})
    picture = left(snapshot, "screenshot", {"screenshot.png": "picture"})
    copy = left(snapshot, "singlefile", {"singlefile.html": "<p>whole</p>"})
    text = left(snapshot, "htmltotext", {"htmltotext.txt": "whole"}, output_json={"built_by_scripts": False})
    assert re.findall(r'href="\?view=([a-z]+)"[^>]*data-key="1"', page(client, snapshot)) == ["replay"]
    assert "uilt by scripts" not in page_of(client.get(f"/web/latest/{URL}", follow=True))

    ArchiveResult.objects.filter(pk=text.pk).update(output_json={"built_by_scripts": True})
    shown = page(client, snapshot)
    assert re.findall(r'href="\?view=([a-z]+)"[^>]*data-key="1"', shown) == ["singlefile"]
    assert "This page is built by scripts. So you see the saved copy." in shown
    offer = 'This page is built by scripts. <a href="?view=singlefile">'
    assert offer in page(client, snapshot, "?view=replay")
    archived = page_of(client.get(f"/web/latest/{URL}", follow=True))
    assert re.search(r'<iframe class="archived-frame" src="[^"]*/singlefile/singlefile.html"', archived)
    assert "This page is built by scripts. So you see the saved copy." in archived

    ArchiveResult.objects.filter(pk=text.pk).update(output_json={"measures": [{"name": "text", "percent": 79}]})
    shown = page(client, snapshot)
    assert "79 % of its words were in what the server sent. So you see the saved copy" in shown
    Snapshot.objects.filter(pk=snapshot.pk).update(quality=97)
    assert re.findall(r'href="\?view=([a-z]+)"[^>]*data-key="1"', page(client, snapshot)) == ["singlefile"]
    Snapshot.objects.filter(pk=snapshot.pk).update(quality=98)
    assert re.findall(r'href="\?view=([a-z]+)"[^>]*data-key="1"', page(client, snapshot)) == ["replay"]

    Snapshot.objects.filter(pk=snapshot.pk).update(quality=12, quality_with_scripts=97)
    shown = page(client, snapshot)
    assert re.findall(r'href="\?view=([a-z]+)"[^>]*data-key="1"', shown) == ["singlefile"]
    assert "Without its scripts, the replay shows 12 % of this page. So you see the saved copy" in shown
    assert "With its recorded scripts, the replay shows 97 %." in shown
    remark = shown.partition('<div class="remark">')[2].partition("</div>")[0]
    assert re.search(
        r'<form method="post" action="\?view=replay">.*name="scripts" value="run">run its scripts<', remark
    )
    copy.delete()
    shown = page(client, snapshot)
    assert re.findall(r'href="\?view=([a-z]+)"[^>]*data-key="1"', shown) == ["screenshot"]
    assert "So you see its picture." in shown
    picture.delete()
    assert re.findall(r'href="\?view=([a-z]+)"[^>]*data-key="1"', page(client, snapshot)) == ["replay"]


def first(client: Client, snapshot: Snapshot) -> list[str]:
    return re.findall(r'href="\?view=([a-z]+)"[^>]*data-key="1"', page(client, snapshot))


def test_what_shows_most_opens_first_by_the_measure_of_each_format(client: Client, snapshot: Snapshot) -> None:
    record(snapshot.path, {snapshot.url: Page(b"<p>Loading")})
    left(snapshot, "singlefile", {"singlefile.html": "<p>whole</p>"})
    picture = left(snapshot, "screenshot", {"screenshot.png": "picture"})
    assert first(client, snapshot) == ["replay"]
    left(snapshot, "quality", {}, output_json={"measures": [{"name": "text", "percent": None}]})
    assert first(client, snapshot) == ["singlefile"], "a page without words, which scripts may have drawn"

    def measure(replay: int, copy: int) -> None:
        measures = [{"name": "words", "format": "replay", "percent": replay, "sentence": ""}]
        measures += [{"name": "words of singlefile", "format": "singlefile", "percent": copy, "sentence": ""}]
        Snapshot.objects.filter(pk=snapshot.pk).update(quality=replay, quality_with_scripts=99, measures=measures)

    measure(97, 57)
    assert first(client, snapshot) == ["replay"]
    measure(90, 95)
    assert first(client, snapshot) == ["singlefile"]
    measure(3, 57)
    assert first(client, snapshot) == ["screenshot"], "of two poor ones neither"
    picture.delete()
    assert first(client, snapshot) == ["singlefile"]

    client.post("/look/", {"scripts": "on"})
    for address in (f"/snapshots/{snapshot.pk}/", f"/web/latest/{URL}"):
        assert "Stop scripts" in page_of(client.get(address, follow=True)), "99 % with them"
    measure(98, 100)
    assert "Run scripts" in page(client, snapshot), "it does not need them"


def test_a_card_says_why_a_page_is_not_archived_and_claims_nothing(client: Client, snapshot: Snapshot) -> None:
    left(snapshot, "responses", {"index.jsonl": "{}"})
    assert "Recording of the network" in page_of(client.get("/"))
    left(snapshot, "chrome", {}, 30, status="failed", reason="login_wall")
    shown = page_of(client.get("/"))
    assert "The site showed its log-in page instead of the page." in shown
    assert "Recording of the network" not in shown


def test_no_link_leads_to_what_is_no_page_of_the_web(client: Client) -> None:
    assert 'href="javascript' not in page_of(client.get("/web/latest/javascript:alert(1)"))


def test_the_text_of_what_is_no_page_opens_before_its_picture(client: Client, snapshot: Snapshot) -> None:
    left(snapshot, "screenshot", {"screenshot.png": "picture"})
    left(snapshot, "htmltotext", {"htmltotext.txt": "{}"})
    left(snapshot, "headers", {"headers.json": "{}"})
    arrange(Snapshot.objects.filter(pk=snapshot.pk), mime_type="application/json")
    snapshot.refresh_from_db()
    assert re.findall(r'href="\?view=([a-z-]+)"[^>]*data-key="1"', page(client, snapshot)) == ["htmltotext-text"]


def test_how_much_of_the_page_replay_has_is_said_with_what_it_lacks(client: Client, snapshot: Snapshot) -> None:
    assert "<dt>Quality</dt><dd>not measured</dd>" in page(client, snapshot), "there is no replay"
    record(snapshot.path, {snapshot.url: Page(b"<p>Pears")})
    missing = [["https://example.org/<b>.js", "no answer"], "no pair"]
    measures = [
        {"name": "resources", "percent": 62, "sentence": "5 of 8.", "missing": missing, "missing_count": 3},
        {"name": "text", "percent": 95, "sentence": "Nearly all."},
        "no measure",
    ]
    left(snapshot, "quality", {}, output_json={"measures": measures})
    left(snapshot, "article", {}, output_json={"measures": "no list"})
    shown = page(client, snapshot).partition('class="menu quality"')[2].partition("</details>")[0]
    assert re.search(r'class="badge ">Quality: not checked yet</span>', shown)
    assert "Estimate by its words" in shown
    counted = [
        {"name": "words", "percent": 62, "sentence": "62 of 100."},
        {"name": "picture", "percent": None, "sentence": "Not measured."},
    ]
    Snapshot.objects.filter(pk=snapshot.pk).update(quality=62, measures=counted, measured_at=timezone.now())

    shown = page(client, snapshot).partition('class="menu quality"')[2].partition("</details>")[0]
    assert re.search(r'class="badge wait">Replay incomplete\s*<span class="num">\(62 %\)', shown)
    assert "https://example.org/&lt;b&gt;.js</span><small>no answer</small>" in shown
    assert "and 2 more" in shown
    assert f'action="/snapshots/{snapshot.pk}/capture/"' in shown
    assert 'Words <span class="num">62 %</span></dt><dd>62 of 100.</dd>' in shown
    assert 'Picture <span class="num">\u2013</span></dt><dd>Not measured.</dd>' in shown
    assert "Estimate by its words" not in shown
    assert f'name="id" value="{snapshot.pk}"><button class="quiet" name="kind" value="compare">' in shown
    assert "The replay shows 62 % of the page" in page_of(client.get("/"))


@pytest.mark.parametrize(
    ("percent", "word"), [(100, "complete"), (99, "nearly complete"), (79, "incomplete"), (49, "incomplete")]
)
def test_a_quality_has_a_word_and_lists_mark_the_bad_alone(
    client: Client, snapshot: Snapshot, percent: int, word: str
) -> None:
    record(snapshot.path, {snapshot.url: Page(b"<p>Pears")})
    Snapshot.objects.filter(pk=snapshot.pk).update(quality=percent)
    assert re.search(f">Replay {word}[ <]", page(client, snapshot))
    listed = page_of(client.get("/?sort=worst"))
    assert (f"replay {percent} %<" in listed) == (percent < 80)
    assert "worst first, measured pages only" in listed
    assert ">Quality</a>" in page_of(client.get("/?sort=worst&view=table")), "by what it is sorted"


def test_an_order_in_which_no_page_has_a_place_says_so(client: Client) -> None:
    """Also a moment after the library was seen empty."""
    cache.clear()
    assert "Archive your first page" in page_of(client.get("/"))
    assert kept(URL).quality is None
    assert "No measurements yet" in page_of(client.get("/?sort=worst"))


def test_a_version_shows_when_the_page_was_checked_and_had_not_changed(client: Client) -> None:
    version, dropped = kept(URL), kept(URL)
    retire_unchanged(dropped, version)
    shown = page(client, version)
    assert re.search("Checked again .*: unchanged", shown)
    assert f"/snapshots/{version.pk}/" in page(client, dropped, status=410)
    assert "1</b> unchanged" in page_of(client.get(f"/crawls/{dropped.crawl_id}/"))
    client.post(f"/snapshots/{dropped.pk}/restore/")
    assert list(Snapshot.objects.kept()) == [version], "its files are gone: there is nothing to bring back"


def test_a_version_says_whose_files_it_shows(client: Client) -> None:
    first, second = kept(URL), kept(URL)
    left(second, "screenshot", {"screenshot.png": "png"})
    assert "Unchanged since" not in page(client, second)
    note = second.path / "linked_outputs.json"
    note.write_text(json.dumps({"snapshot": str(first.pk), "files": ["screenshot/screenshot.png", "screenshot/x.png"]}))
    said = page(client, second).partition("Unchanged since")[2].partition("</p>")[0]
    assert f'href="/snapshots/{first.pk}/"' in said
    assert " ".join(said.split()).endswith("whose files are shown: Screenshot.")
    other = kept("https://example.org/other")
    note.write_text(json.dumps({"snapshot": str(other.pk), "files": ["screenshot/screenshot.png"]}))
    said = page(client, second).partition("Unchanged since")[2].partition("</p>")[0]
    assert "an earlier version" in said
    assert str(other.pk) not in said
    for text in ("torn {", "[]", '{"snapshot": 1, "files": 2}', '{"snapshot": "x", "files": []}'):
        note.write_text(text)
        assert "Unchanged since" not in page(client, second)


def test_versions_stand_on_a_strip_and_any_two_can_be_compared(client: Client) -> None:
    first, second, third = kept(URL), kept(URL), kept(URL)
    for version, text in ((first, "open till six"), (second, "open till nine")):
        left(version, "htmltotext", {"h.txt": text})
        left(version, "screenshot", {"screenshot.png": "png"})

    strip = page(client, second)
    assert "2 of 3" in strip
    assert f'href="/snapshots/{first.pk}/" rel="prev"' in strip
    assert f'href="/snapshots/{third.pk}/" rel="next"' in strip
    pair = f"/snapshots/{first.pk}/changes/{second.pk}/"
    text = page_of(client.get(pair))
    assert "open till <mark>six</mark>" in text
    assert "open till <mark>nine</mark>" in text
    pictures = page_of(client.get(f"{pair}?as=picture")).partition('<div class="overlay"')[2].partition("</div>")[0]
    assert pictures.count("/screenshot/screenshot.png") == 2
    assert client.get(f"/snapshots/{second.pk}/changes/{first.pk}/").headers["location"] == pair
    assert "has no text" in page_of(client.get(f"/snapshots/{second.pk}/changes/{third.pk}/"))
    assert client.get(f"/snapshots/{first.pk}/changes/{kept('https://other.example/').pk}/").status_code == 404


def test_links_say_what_is_in_the_archive(client: Client, snapshot: Snapshot) -> None:
    known = kept("https://example.org/known")
    lines = [{"url": known.url, "title": "Known <b>"}, {"url": "https://example.org/none"}, {"url": URL}, {"url": "::"}]
    left(snapshot, "parse_html_urls", {"urls.jsonl": "\n".join(map(json.dumps, lines))})

    shown = page(client, snapshot)
    assert f'href="/snapshots/{known.pk}/" title="{known.url}">Known &lt;b&gt;</a>' in shown
    assert "Not archived (1)" in shown


def test_a_plugin_draws_itself_and_what_it_draws_cannot_harm(client: Client, snapshot: Snapshot) -> None:
    templates = DATA_FOLDER.plugins / "poem" / "templates"
    templates.mkdir(parents=True)
    (templates.parent / "on_Snapshot__50_poem.py").write_text("")
    (templates / "card.html").write_text("<p>{{ snapshot.title }} by {{ plugin }}</p>")
    (templates / "icon.html").write_text("<b class='sign'>P</b>")
    (templates / "embed.html").write_text(
        "<h2>{{ result.output_str }}</h2>{{ result.output_json.html|safe }}"
        '<img src="{{ files.0.url }}"><img src="https://live.example/">'
        "<script>alert(1)</script><form action='/logout/'><button>x</button></form>"
    )
    (templates.parent.parent / "broken" / "templates").mkdir(parents=True)
    (templates.parent.parent / "broken" / "on_Snapshot__50_broken.py").write_text("")
    (templates.parent.parent / "broken" / "templates" / "embed.html").write_text("{% nonsense %}")
    hooks.forget_plugins()
    left(snapshot, "poem", {"p.bin": "x"}, output_str="<Ode>", output_json={"html": "<i onclick='x()'>line</i>"})
    left(snapshot, "broken", {"b.bin": "x"})

    shown = page(client, snapshot, "?view=poem")
    drawn = shown.partition('<div class="drawn">')[2].partition("</section>")[0]
    assert "<h2>&lt;Ode&gt;</h2><i>line</i>" in drawn
    assert re.search(r'<img src="http://[^"]+/poem/p.bin">', drawn)
    for gone in ("live.example", "<script", "alert", "onclick", "<form", "<button"):
        assert gone not in drawn
    assert '<b class="sign">P</b>' in shown
    assert "<p>by poem</p>" in page_of(client.get("/"))
    assert "The plugin could not render this" in page(client, snapshot, "?view=broken")


def test_the_timeline_has_a_bar_for_each_try_and_its_wait(client: Client, snapshot: Snapshot) -> None:
    result = left(snapshot, "wget", {}, 61, status="failed", reason="timeout")
    for start, end in ((0, 1), (3, 4)):
        factories.row(
            process_type="hook", status="exited", exit_code=1, plugin="wget", hook_name="on_Snapshot__61_wget.py",
            cmd=["wget"], pid=1, snapshot_id=snapshot.pk, archiveresult_id=result.pk,
            started_at=f"2026-01-01T00:00:0{start}Z", ended_at=f"2026-01-01T00:00:0{end}Z",
        )  # fmt: skip

    drawn = page(client, snapshot).partition('class="gantt"')[2].partition('<p class="legend')[0]
    assert re.findall(r'<rect class="bad" x="([\d.]+)%" width="([\d.]+)%"', drawn) == [
        ("0.0", "25.0"),
        ("75.0", "25.0"),
    ]
    assert '<line class="wait" x1="25.0%" x2="75.0%"' in drawn


def test_a_page_asks_the_database_as_often_whatever_there_is_to_show(client: Client, snapshot: Snapshot) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            page(client, snapshot)
        return len(asked)

    left(snapshot, "singlefile", {"singlefile.html": "x"})
    left(snapshot, "article", {"article.html": "x"}, output_json={"language": "eo"})
    first = queries()
    for number in range(10):
        result = left(snapshot, f"plugin{number}", {f"{n}.html": "x" for n in range(5)}, 20 + number)
        factories.row(
            process_type="hook", status="exited", exit_code=0, plugin=result.plugin, hook_name=result.hook_name,
            cmd=["x"], pid=1, snapshot_id=snapshot.pk, archiveresult_id=result.pk,
            started_at="2026-01-01T00:00:00Z", ended_at="2026-01-01T00:00:01Z",
        )  # fmt: skip
    assert queries() <= first + 1, "one for the programs that processes ran"
    assert "<dd>eo</dd>" in page(client, snapshot)


def test_passers_by_see_neither_processes_nor_what_only_people_inside_may_do(snapshot: Snapshot) -> None:
    answer = passer_by().get(f"/snapshots/{snapshot.pk}/")
    assert (answer.status_code, "/login/" in answer.headers["location"]) == (302, True)
    for change in ("tags", "notes", "retry", "capture", "verify", "remove", "restore"):
        answer = passer_by().post(f"/snapshots/{snapshot.pk}/{change}/")
        assert (answer.status_code, "/login/" in answer.headers["location"]) == (302, True)
    assert Snapshot.objects.get().retired_at is None


def test_a_print_that_is_cut_says_so(client: Client, snapshot: Snapshot) -> None:
    said = "output.pdf: the first 20 sheets of at least 566"
    left(snapshot, "pdf", {"output.pdf": "%PDF"}, 52, output_str=said, output_json={"pages": 20, "cut": True})
    assert said in page(client, snapshot, "?view=results")


def test_a_page_that_was_refused_says_what_came_when_it_is_tried_again_and_how_now(client: Client) -> None:
    refused = kept(URL)
    again = timezone.now() + timedelta(minutes=7)
    Snapshot.objects.filter(pk=refused.pk).update(http_status=503, retry_at=again)
    said = "the server answered 503: it asks to retry later"
    columns = {"status": "backoff", "reason": "server_busy", "output_str": said, "retry_at": again, "attempts": 1}
    left(refused, "chrome", {}, 30, **columns)
    shown = page(client, refused)
    assert "The server answered 503: it asks to retry later." in shown
    assert "Retries by itself." in shown
    assert again.strftime("%Y-%m-%dT%H:%M") in shown, "the moment of the next try"
    assert f'action="/snapshots/{refused.pk}/retry' in shown
    assert "Try again now" in shown


@pytest.mark.parametrize("view", ["cards", "list", "table"])
def test_a_page_that_answered_404_is_found_by_that_and_shows_the_number(client: Client, view: str) -> None:
    for number, status in enumerate((200, 404)):
        found = kept(f"https://example.org/{number}")
        left(found, "dom", {"output.html": "<p>words</p>"})
        Snapshot.objects.filter(pk=found.pk).update(http_status=status)
    shown = page_of(client.get(f"/?view={view}&q=http:404"))
    assert re.findall(r'data-row="([^"]+)"', shown) == [str(found.pk)]
    assert re.search(r'title="The server answered 404[^"]*"><svg.*?</svg>404<', shown)


def test_what_the_browser_sees_is_shown_where_the_formats_will_be(client: Client) -> None:
    shown = page(client, kept(URL, status="started"))
    assert re.search(r'<div class="look">.*</section>\s*<section class="screens"', shown, re.DOTALL)
    assert 'class="screens"' not in page(client, kept("https://example.org/done"))
