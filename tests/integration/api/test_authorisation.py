"""Every address and method of the whole app asks for what its row says, of everybody: a new one without a row fails."""

import re
from collections.abc import Iterator

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from archivebox.accounts.roles import Action
from tests.integration.api.conftest import Caller, Make
from tests.marks import these_by_default

OPEN = None
"""Answers everybody."""
LIST, READ, INSPECT, ADD, EDIT, OWN, ADMINISTER = Action
Row = dict[str, Action | None]

SNAPSHOT_CHANGES = ("tags", "notes", "retry", "capture", "verify", "visibility", "remove", "restore")

FORMER = r"(?P<former_id>[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12})(?:/(?P<path>.*))?$"
"""The end of an address that 0.9 gave a page."""
PAGES: dict[str, Row] = {
    "": {"GET": LIST, "POST": EDIT},
    "snapshots/<uuid:snapshot_id>/": {"GET": READ, "POST": READ},
    **{f"snapshots/<uuid:snapshot_id>/{change}/": {"POST": EDIT} for change in SNAPSHOT_CHANGES},
    "snapshots/<uuid:snapshot_id>/changes/<uuid:other_id>/": {"GET": READ},
    "snapshots/<uuid:snapshot_id>/scripts/<uuid:view_id>/": {"POST": READ},
    "crawls/": {"GET": READ, "POST": EDIT},
    "crawls/<uuid:crawl_id>/": {"GET": READ, "POST": EDIT},
    "search/help/": {"GET": LIST},
    "tags/": {"GET": LIST, "POST": EDIT},
    "tags/<uuid:tag_id>/": {"GET": LIST, "POST": EDIT},
    "look/": {"POST": LIST},
    **{f"crawls/<uuid:crawl_id>/{change}/": {"POST": EDIT} for change in ("do", "patterns", "limits", "visibility")},
    "crawls/<uuid:crawl_id>/screencast/": {"GET": READ},
    "events/": {"GET": READ},
    "palette/": {"GET": LIST},
    r"^web/(?P<when>latest|\d{4,14})/(?P<url>.+)$": {"GET": READ, "POST": READ},
    r"^archive/(?P<timestamp>\d{1,12}(\.\d{1,32})?)/(?P<path>.*)$": {"GET": READ},
    rf"^snapshot/{FORMER}": {"GET": READ},
    rf"^[^/]+/\d{{8}}/[^/]+/{FORMER}": {"GET": READ},
    r"^web/follow/(?P<when>\d{14})/(?P<url>.+)$": {"GET": OPEN},
    "failures/": {"GET": READ},
    "import/": {"GET": EDIT, "POST": EDIT},
    "import/archives/": {"GET": EDIT, "POST": EDIT},
    "import/archives/<uuid:job_id>/": {"GET": EDIT, "POST": EDIT},
    "import/archives/<uuid:job_id>/file/": {"POST": EDIT},
    "import/<uuid:job_id>/": {"GET": EDIT, "POST": EDIT},
    "import/<uuid:job_id>/failed.csv": {"GET": EDIT},
    "import/<uuid:job_id>/refused.csv": {"GET": EDIT},
    "jobs/": {"GET": READ},
    "jobs/start/": {"POST": EDIT},
    "jobs/<uuid:job_id>/": {"GET": READ, "POST": EDIT},
    "jobs/<uuid:job_id>/undo/": {"POST": EDIT},
    "jobs/<uuid:job_id>/file/": {"GET": READ},
    "jobs/<uuid:job_id>/failures.csv": {"GET": READ},
    "jobs/<uuid:job_id>/not-imported.csv": {"GET": READ},
    "schedules/": {"GET": READ},
    "schedules/new/": {"GET": EDIT, "POST": EDIT},
    "schedules/<uuid:schedule_id>/": {"GET": READ},
    "schedules/<uuid:schedule_id>/do/": {"POST": EDIT},
    "schedules/<uuid:schedule_id>/change/": {"GET": EDIT, "POST": EDIT},
    "shares/": {"GET": EDIT, "POST": EDIT},
    "shares/<uuid:link_id>/revoke/": {"POST": EDIT},
    "shared/<str:token>/": {"GET": OPEN},
    "shared/<str:token>/<uuid:snapshot_id>/": {"GET": OPEN},
    "searches/": {"POST": OWN},
    "searches/<uuid:search_id>/": {"POST": OWN},
    "add/": {"GET": ADD, "POST": ADD},
    "add/preview/": {"POST": ADD},
    "add/page/": {"GET": OPEN},
    "login/": {"GET": OPEN, "POST": OPEN},
    "login/link/<str:token>/": {"GET": OPEN, "POST": OPEN},
    "login/second/": {"GET": OPEN, "POST": OPEN},
    "login/passkey/": {"POST": OPEN},
    "login/passkey/options/": {"GET": OPEN},
    "login/provider/": {"GET": OPEN},
    "login/provider/back/": {"GET": OPEN},
    "login/provider/connect/": {"POST": OWN},
    "login/provider/disconnect/": {"POST": OWN},
    "logout/": {"POST": OPEN},
    "password/": {"GET": OWN, "POST": OWN},
    "security/": {"GET": OWN},
    "security/confirm/": {"GET": OWN, "POST": OWN},
    "security/app/": {"GET": OWN, "POST": OWN},
    "security/passkey/": {"GET": OWN, "POST": OWN},
    "security/codes/": {"POST": OWN},
    "security/<str:kind>/<uuid:factor_id>/": {"POST": OWN},
    "tokens/": {"GET": OWN, "POST": OWN},
    "tokens/<uuid:token_id>/revoke/": {"POST": OWN},
    "webhooks/": {"GET": OWN, "POST": OWN},
    "webhooks/<uuid:webhook_id>/": {"GET": OWN},
    "webhooks/<uuid:webhook_id>/do/": {"POST": OWN},
    "webhooks/<uuid:webhook_id>/change/": {"GET": OWN, "POST": OWN},
    "webhooks/<uuid:webhook_id>/deliveries/<uuid:delivery_id>/again/": {"POST": OWN},
    "people/": {"GET": ADMINISTER, "POST": ADMINISTER},
    "people/<int:user_id>/": {"POST": ADMINISTER},
    "people/record/": {"GET": ADMINISTER},
    "personas/": {"GET": INSPECT},
    "personas/<str:name>/": {"GET": INSPECT},
    "machines/": {"GET": INSPECT},
    "machines/<uuid:machine_id>/": {"GET": INSPECT},
    "machines/<uuid:machine_id>/change/": {"POST": ADMINISTER},
    "processes/": {"GET": INSPECT},
    "processes/<uuid:process_id>/": {"GET": INSPECT},
    "processes/<uuid:process_id>/end/": {"POST": EDIT},
    "plugins/": {"GET": INSPECT},
    "plugins/<str:name>/": {"GET": INSPECT, "POST": ADMINISTER},
    "settings/": {"GET": INSPECT, "POST": ADMINISTER},
    "api/docs/": {"GET": LIST},
    "health/": {"GET": OPEN},
    "ready/": {"GET": OPEN},
    "static/<path:path>": {"GET": OPEN},
    "favicon.ico": {"GET": OPEN},
}
SERVICES: dict[str, Row] = {"metrics/": {"GET": INSPECT}}
"""Beside the API, with the same tokens."""
API: dict[str, Row] = {
    "openapi.json": {"GET": LIST},
    "snapshots": {"GET": LIST, "POST": ADD},
    "snapshots/<uuidstr:snapshot_id>": {"GET": LIST, "PATCH": EDIT, "DELETE": EDIT},
    "snapshots/<uuidstr:snapshot_id>/restore": {"POST": EDIT},
    "snapshots/<uuidstr:snapshot_id>/<change>": {"POST": EDIT},
    "snapshots/<uuidstr:snapshot_id>/results": {"GET": READ},
    "results": {"GET": READ},
    "results/<uuidstr:result_id>": {"GET": READ},
    "results/<uuidstr:result_id>/retry": {"POST": EDIT},
    "crawls": {"GET": READ, "POST": ADD},
    "crawls/<uuidstr:crawl_id>": {"GET": READ, "PATCH": EDIT, "DELETE": EDIT},
    "crawls/<uuidstr:crawl_id>/retry": {"POST": EDIT},
    "crawls/<uuidstr:crawl_id>/<change>": {"POST": EDIT},
    "schedules": {"GET": READ, "POST": EDIT},
    "schedules/<uuidstr:schedule_id>": {"GET": READ, "PATCH": EDIT, "DELETE": EDIT},
    "schedules/<uuidstr:schedule_id>/run": {"POST": EDIT},
    "schedules/<uuidstr:schedule_id>/<change>": {"POST": EDIT},
    "tags": {"GET": LIST, "POST": EDIT},
    "snapshots/<uuidstr:snapshot_id>/notes": {"GET": READ, "POST": EDIT},
    "snapshots/<uuidstr:snapshot_id>/notes/<uuidstr:note_id>": {"DELETE": EDIT},
    "snapshots/<uuidstr:snapshot_id>/files": {"GET": READ},
    "snapshots/<uuidstr:snapshot_id>/files/<path:path>": {"GET": READ},
    "personas": {"GET": INSPECT},
    "personas/<name>": {"GET": INSPECT},
    "plugins": {"GET": INSPECT},
    "plugins/<name>": {"GET": INSPECT},
    "settings": {"GET": INSPECT, "PATCH": ADMINISTER},
    "settings/<name>": {"GET": INSPECT},
    "tags/<uuidstr:tag_id>": {"GET": LIST, "PATCH": EDIT, "DELETE": EDIT},
    "tags/<uuidstr:tag_id>/merge": {"POST": EDIT},
    "searches": {"GET": LIST, "POST": OWN},
    "searches/<uuidstr:search_id>": {"GET": LIST, "PATCH": OWN, "DELETE": OWN},
    "shares": {"GET": EDIT, "POST": EDIT},
    "shares/<uuidstr:share_id>": {"GET": EDIT, "DELETE": EDIT},
    "imports": {"POST": EDIT},
    "imports/<uuidstr:import_id>": {"GET": EDIT, "DELETE": EDIT},
    "imports/<uuidstr:import_id>/file": {"PUT": EDIT},
    "imports/<uuidstr:import_id>/start": {"POST": EDIT},
    "jobs": {"GET": READ, "POST": EDIT},
    "jobs/<uuidstr:job_id>": {"GET": READ},
    "jobs/<uuidstr:job_id>/<change>": {"POST": EDIT},
    "feeds/snapshots.rss": {"GET": LIST},
    "feeds/snapshots.json": {"GET": LIST},
    "cli/add": {"POST": ADD},
    "snapshots/singlefile": {"POST": ADD},
    "machines": {"GET": INSPECT},
    "machines/<uuidstr:machine_id>": {"GET": INSPECT, "DELETE": ADMINISTER},
    "machines/<uuidstr:machine_id>/drain": {"POST": ADMINISTER},
    "machines/<uuidstr:machine_id>/resume": {"POST": ADMINISTER},
    "processes": {"GET": INSPECT},
    "processes/<uuidstr:process_id>": {"GET": INSPECT},
    "processes/<uuidstr:process_id>/terminate": {"POST": ADMINISTER},
    "binaries": {"GET": INSPECT, "POST": ADMINISTER},
    "binaries/<uuidstr:binary_id>": {"GET": INSPECT},
    "binaries/<uuidstr:binary_id>/retry": {"POST": ADMINISTER},
    "users": {"GET": ADMINISTER, "POST": ADMINISTER},
    "users/me": {"GET": LIST},
    "users/<int:user_id>": {"GET": ADMINISTER, "PATCH": ADMINISTER},
    "tokens": {"GET": OWN, "POST": OWN},
    "tokens/<uuidstr:token_id>": {"GET": OWN, "DELETE": OWN},
    "webhooks": {"GET": OWN, "POST": OWN},
    "webhooks/<uuidstr:webhook_id>": {"GET": OWN, "PATCH": OWN, "DELETE": OWN},
    "webhooks/<uuidstr:webhook_id>/secret": {"POST": OWN},
    "webhooks/<uuidstr:webhook_id>/test": {"POST": OWN},
    "webhooks/<uuidstr:webhook_id>/deliveries": {"GET": OWN},
    "webhooks/<uuidstr:webhook_id>/deliveries/<uuidstr:delivery_id>/resend": {"POST": OWN},
    "audit": {"GET": ADMINISTER},
}

VIEWER = {LIST, READ, OWN}
EDITOR = VIEWER | {INSPECT, ADD, EDIT}
CALLERS: dict[str, tuple[str, tuple[str, ...], set[Action]]] = {
    "viewer": ("viewer", (), VIEWER),
    "editor": ("editor", (), EDITOR),
    "admin": ("admin", (), {*Action}),
    "token feed": ("admin", ("feed",), {LIST}),
    "token read": ("admin", ("read",), {LIST, READ, INSPECT}),
    "token add": ("admin", ("add",), {ADD}),
    "token write": ("admin", ("write",), {LIST, READ, INSPECT, ADD, EDIT}),
    "token admin": ("admin", ("admin",), {*Action}),
    "token admin of a viewer": ("viewer", ("admin",), VIEWER),
}
"""Role, scopes, and what they may do."""
EXAMPLES = {"uuid": "01a00000-0000-7000-8000-000000000000", "int": "999999", "str": "x", "path": "x.css", "": "pause"}

ASK_FOR_THEMSELVES = {
    "login/",
    "login/link/<str:token>/",
    "login/second/",
    "login/passkey/",
    "security/confirm/",
}
"""They answer 403 to whoever sends a wrong password, link or code."""


def addresses(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        whole = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns, whole)
        else:
            yield whole


def example(address: str) -> str:
    """A path that it matches; what a page's own pattern names stands for itself."""
    address = address.removeprefix("^").replace(r"(?P<when>latest|\d{4,14})", "latest")
    address = address.replace(r"(?P<timestamp>\d{1,12}(\.\d{1,32})?)", "1700000000").replace("(?P<path>.*)$", "")
    address = address.replace(FORMER, "0" * 32).replace(r"[^/]+/\d{8}/[^/]+", "ada/20260101/a.example")
    address = address.replace(r"(?P<when>\d{14})", "20260101000000").replace("(?P<url>.+)$", "http://example.com/")
    return "/" + re.sub(r"<(?:(\w+?)(?:str)?:)?\w+>", lambda found: EXAMPLES[found[1] or ""], address)


ALL = sorted(set(addresses(get_resolver("archivebox.web.urls").url_patterns)))
ROWS = {**PAGES, **SERVICES, **{f"api/v1/{address}": row for address, row in API.items()}}


def is_refused(answer: HttpResponse) -> bool:
    led_to_login = answer.status_code == 302 and answer["Location"].startswith("/login/")
    return led_to_login or answer.status_code in {401, 403}


def test_every_address_has_its_row() -> None:
    others = {address for address in ALL if address.startswith("admin/")} | {"api/<path:rest>"}
    assert set(ALL) - others == set(ROWS)


@pytest.mark.parametrize("who", these_by_default(CALLERS, {"viewer", "editor", "token read"}))
def test_everybody_may_do_what_the_table_says_and_nothing_else(who: str, caller: Make) -> None:
    role, scopes, allowed = CALLERS[who]
    somebody, wrong = caller(role, *scopes), []
    for address, row in ROWS.items():
        if scopes and address in PAGES:
            continue  # pages know no tokens
        for method, needed in row.items():
            if address == "logout/":
                continue  # it would end the session of the next question
            refused = is_refused(somebody.ask(method, example(address)))
            if refused != (needed is not OPEN and needed not in allowed) and address not in ASK_FOR_THEMSELVES:
                wrong.append((method, address, refused))
    assert wrong == []


@pytest.mark.django_db
def test_a_passer_by_may_do_nothing() -> None:
    nobody = Caller()
    add_client = [
        (method, address)
        for address, row in ROWS.items()
        for method, needed in row.items()
        if needed is not OPEN and not is_refused(nobody.ask(method, example(address)))
    ]
    assert add_client == []


@pytest.mark.django_db
def test_a_token_opens_no_page(caller: Make) -> None:
    admin = caller("admin", "admin")
    asked = [(address, method, needed) for address, row in PAGES.items() for method, needed in row.items()]
    assert [one for one in asked if one[2] is not OPEN and not is_refused(admin.ask(one[1], example(one[0])))] == []


def test_an_unsupported_method_of_the_api_is_refused_with_problem_details(caller: Make) -> None:
    admin = caller("admin", "admin")
    for address, row in API.items():
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - set(row):
            answer = admin.ask(method, example(f"api/v1/{address}"))
            assert answer.status_code == 405, (method, address)
            assert answer["Content-Type"] == "application/problem+json"
            assert set(answer["Allow"].split(", ")) == set(row)


@pytest.mark.parametrize("who", ["viewer", "editor"])
def test_the_admin_is_for_administrators(who: str, caller: Make) -> None:
    somebody = caller(who)
    inside = [address for address in ALL if address.startswith("admin/") and "<" not in address]
    assert len(inside) > 10
    left_out = {"admin/login/", "admin/logout/", "admin/password_change/"}
    for address in set(inside) - left_out:
        assert (
            is_refused(somebody.ask("GET", "/" + address))
            or "/admin/login/" in somebody.ask("GET", "/" + address)["Location"]
        )


def test_a_session_changes_nothing_without_the_token_of_a_form(caller: Make) -> None:
    somebody = caller("editor", csrf=True)
    answer = somebody.ask("POST", "/api/v1/tags", {"name": "new"})
    assert answer.status_code == 403
    assert b"X-CSRFToken" in answer.content
    assert somebody.get("/api/v1/tags")["items"] == []


@pytest.mark.django_db
@pytest.mark.parametrize("said", ["Bearer abx_wrong", "Bearer ", "Basic YTpi", "Bearer abx_\u00e9"])
def test_a_wrong_token_is_not_made_up_for_by_a_session(said: str, caller: Make) -> None:
    session = caller("admin").client
    answer = session.get("/api/v1/snapshots", headers={"Authorization": said})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.django_db
def test_settings_open_lists_and_nothing_else(settings: object) -> None:
    for name, opened in (("PUBLIC_INDEX", "/api/v1/snapshots"), ("PUBLIC_SNAPSHOTS", "/api/v1/results")):
        setattr(settings, name, True)
        assert Client().get(opened).status_code == 200
        setattr(settings, name, False)
        assert Client().get(opened).status_code == 401
