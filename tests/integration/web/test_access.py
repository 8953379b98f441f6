"""Nobody sees anything without a log-in, but what was opened by a setting."""

import re
from concurrent.futures import ThreadPoolExecutor

from tests.webserver.fixtures import Library
from tests.webserver.rows import NAME, PASSWORD
from tests.webserver.server import Visitor, in_collection


def test_a_page_without_login_leads_to_the_login(library: Library) -> None:
    for path in ("/", "/crawls/", "/password/", "/admin/", "/admin/machine/process/", "/?q=story"):
        answer = library.server.ask(path)
        assert (answer.status, "/login/" in answer.headers["location"], b"Story" in answer.body) == (302, True, False)


def test_pages_of_rows_without_login_lead_to_the_login_whether_the_row_exists_or_not(library: Library) -> None:
    for key in (library.snapshot, "01a00000-0000-7000-8000-000000000000"):
        for path in (f"/snapshots/{key}/", f"/crawls/{key}/", f"/admin/machine/process/{key}/change/"):
            assert library.server.ask(path).status == 302


def test_changing_anything_without_login_is_refused(library: Library) -> None:
    for path in ("/add/", f"/snapshots/{library.snapshot}/", f"/crawls/{library.crawl}/do/"):
        answer = library.server.ask(path, method="POST", body=b"urls=http%3A%2F%2Fexample.org&change=cancel")
        assert answer.status in {302, 403}
    assert '"status": "paused"' in library.visitor.get(f"/api/v1/crawls/{library.crawl}").text


def test_a_form_without_its_csrf_token_is_refused(library: Library) -> None:
    cookie = f"archivebox_session={library.visitor.jar['archivebox_session']}"
    kind = "application/x-www-form-urlencoded"
    answer = library.server.ask("/add/", method="POST", body=b"urls=x", Cookie=cookie, Content_Type=kind)
    assert answer.status == 403
    assert "out of date" in answer.text


def test_health_and_static_answer_everybody_and_say_nothing_of_the_archive(library_with_workers: Library) -> None:
    server = library_with_workers.server
    health = server.ask("/health/")
    assert (health.status, health.text) == (200, '{"status": "ok"}')
    assert (server.ask("/ready/").status, server.ask("/metrics/").status) == (200, 401)
    assert server.ask("/static/web/archivebox.css").status == 200
    assert server.ask("/static/../settings.py").status in {400, 404}
    assert server.ask("/static/web/%2e%2e/%2e%2e/settings.py").status in {400, 404}


def test_a_style_sheet_is_kept_by_the_browser_until_it_changes(library: Library) -> None:
    (address,) = re.findall(r'href="(/static/web/archivebox\.css\?v=\w{12})"', library.server.ask("/login/").text)
    assert "immutable" in library.server.ask(address).headers["cache-control"]
    assert "immutable" not in library.server.ask("/static/web/archivebox.css").headers["cache-control"]


def test_cookies_are_out_of_reach_of_scripts_and_of_other_sites(library: Library) -> None:
    somebody = library.stranger()
    answer = somebody.log_in(NAME, PASSWORD)
    session = next(cookie for cookie in answer.cookies if cookie.startswith("archivebox_session="))
    assert "HttpOnly" in session
    assert "SameSite=Strict" in session
    assert "Domain=" not in session


def test_a_page_allows_no_foreign_script_frame_or_form(library: Library) -> None:
    policy = library.visitor.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert f"frame-src http://*.localhost:{library.server.replay_port}" in policy


def test_a_host_name_that_is_not_ours_is_refused(library: Library) -> None:
    answer = library.server.ask("/health/", host="evil.example")
    assert answer.status == 400
    assert "ALLOWED_HOSTS" in answer.text


def test_the_printed_link_makes_an_administrator_and_works_once(library_with_workers: Library) -> None:
    library = library_with_workers
    path = library.server.link()
    first, second = library.stranger(), library.stranger()
    assert "once" in first.get(path).text
    assert "once" in first.get(path).text, "looking at it does not use it up"
    answer = first.post(path)
    assert (answer.status, answer.headers["location"]) == (302, "/password/")
    assert first.get("/admin/").status == 200
    assert second.get(path).status == 403
    assert "has expired" in second.get(path).text


def test_a_link_gives_no_more_than_its_account_may_and_expires(library: Library) -> None:
    code = (
        "import sys\n"
        "from datetime import timedelta\n"
        "from archivebox.accounts.login_links import make_login_token\n"
        "from django.contrib.auth.models import User\n"
        "user = User.objects.get(username='reader')\n"
        "print(make_login_token(user.pk, timedelta(seconds=float(sys.argv[1]))))"
    )
    token = in_collection(library.server.folder, code, "60")
    reader = library.stranger()
    assert reader.post(f"/login/link/{token}/").status == 302
    assert reader.get("/").status == 200
    assert reader.get("/admin/").status == 302, "an ordinary account is no administrator"
    assert reader.get("/admin/login/?next=/admin/").status == 403, "whom no other log-in of theirs lets in"
    expired = in_collection(library.server.folder, code, "-1")
    assert library.stranger().get(f"/login/link/{expired}/").status == 403


def test_only_administrators_name_hosts_of_a_private_network(library: Library) -> None:
    reader = library.stranger()
    reader.log_in("reader", PASSWORD)
    answer = reader.post("/add/", urls="http://127.0.0.1:9/\nhttp://localhost:9/", depth="0", tags="")
    assert answer.status == 422
    assert answer.text.count("private network") == 2
    assert library.visitor.post("/add/", urls="http://127.0.0.1:9/", depth="0", tags="").status == 302


def test_guessing_a_password_is_slowed_down_but_not_for_whose_it_is(library: Library) -> None:
    owner = library.stranger()
    assert owner.log_in("reader", PASSWORD).status == 302
    assert owner.post("/logout/", form_at="/").status == 302
    guesser = library.stranger()
    for _ in range(5):
        assert guesser.log_in("reader", "wrong").status == 403
    answer = guesser.log_in("Reader", PASSWORD)
    assert answer.status == 429
    assert 0 < int(answer.headers["retry-after"]) <= 300
    assert library.stranger().log_in(NAME, PASSWORD).status == 302, "others are not held up"
    assert owner.log_in("reader", PASSWORD).status == 302, "nor is a browser that has been in"


def test_of_many_guesses_at_once_five_get_to_the_password(library: Library) -> None:
    with ThreadPoolExecutor(14) as pool:
        guesses = [pool.submit(library.stranger().log_in, "nobody", str(number)) for number in range(14)]
        answers = [guess.result().status for guess in guesses]
    assert (answers.count(403), answers.count(429)) == (5, 9)


def test_the_admins_own_login_form_is_not_there(library: Library) -> None:
    answer = library.server.ask("/admin/login/?next=/admin/")
    assert answer.status == 302
    assert answer.headers["location"] == "/login/?next=/admin/"


def test_login_leads_only_to_pages_of_ours(library: Library) -> None:
    somebody = library.stranger()
    answer = somebody.post("/login/", username=NAME, password=PASSWORD, next="//evil.example/")
    assert answer.headers["location"] == "/"


def test_leaving_ends_the_session(library: Library) -> None:
    somebody = library.stranger()
    somebody.log_in(NAME, PASSWORD)
    kept = Visitor(library.server, dict(somebody.jar))
    assert somebody.post("/logout/", form_at="/").status == 302
    assert kept.get("/").status == 302, "the old cookie is worth nothing"


def test_what_the_database_says_of_a_session_lets_nobody_in(library: Library) -> None:
    somebody = library.stranger()
    somebody.log_in(NAME, PASSWORD)
    code = (
        "from django.db import connection\n"
        "with connection.cursor() as cursor:\n"
        "    cursor.execute('SELECT session_key FROM django_session')\n"
        "    print(*(key for (key,) in cursor.fetchall()))"
    )
    names = in_collection(library.server.folder, code).split()
    assert names
    assert somebody.jar["archivebox_session"] not in names
    for name in names:
        assert Visitor(library.server, {"archivebox_session": name}).get("/crawls/").status == 302


def test_settings_open_the_list_and_the_pages_and_nothing_else(public_library: Library) -> None:
    passer_by = public_library.stranger()
    assert "Story 69" in passer_by.get("/").text
    page = passer_by.get(f"/snapshots/{public_library.snapshot}/")
    assert page.status == 200
    assert "process 12" not in page.text
    assert 'id="notes"' not in page.text
    assert "by eve" not in page.text
    assert 'id="notes"' in public_library.visitor.get(f"/snapshots/{public_library.snapshot}/").text
    for path in ("/add/", "/crawls/", f"/crawls/{public_library.crawl}/", "/admin/"):
        assert passer_by.get(path).status == 302


def test_a_change_of_who_sees_a_page_says_what_the_server_then_does(library: Library, public_library: Library) -> None:
    for place, status in ((library, 302), (public_library, 200)):
        page = f"/snapshots/{place.snapshot}/"
        place.visitor.post(f"{page}visibility/", form_at=page, visibility="public")
        assert place.stranger().get(page).status == status
        said = place.visitor.get(page).text
        assert ("Now visible to everyone." in said) == (status == 200)
        assert ("Only logged-in users can see it" in said) == (status == 302)
        assert (">everyone (public archive is off)<" in said) == (status == 302)
