"""The words of earlier versions are taken, or answered by what to use; the documents name each."""

import re
from pathlib import Path

import pytest

from archivebox.cli.former import INSTEAD, OPTIONS, SAME, SETTINGS_INSTEAD, FormerOption, translated
from archivebox.cli.main import main
from archivebox.config.resolve import settings_of
from archivebox.contract.discovery import discover_plugins
from tests.architecture.source import ROOT

PAGE = (ROOT / "docs" / "from-earlier-versions.md").read_text()


@pytest.fixture(autouse=True)
def _data_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))


@pytest.mark.parametrize("former", SAME, ids=" ".join)
def test_what_has_another_name_here_is_taken(former: tuple[str, ...]) -> None:
    assert translated([*former, "X"]) == [*SAME[former], "X"]
    assert all(word in PAGE for word in former)


@pytest.mark.parametrize("former", INSTEAD)
def test_what_is_not_here_is_answered_by_what_to_use(former: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([former]) == 2
    assert INSTEAD[former].rstrip(".") in capsys.readouterr().err
    assert f"`archivebox {former}`" in PAGE


IMAGE = [
    "ADMIN_PASSWORD", "ADMIN_USERNAME", "ALLOWED_HOSTS", "BIND_ADDR", "CHECK_SSL_VALIDITY", "CHROME_BINARY",
    "CHROME_EXTRA_ARGS", "CHROME_HEADLESS", "CHROME_SANDBOX", "CHROME_TIMEOUT", "CHROME_USER_AGENT",
    "CHROME_USER_DATA_DIR", "COOKIES_FILE", "CSRF_TRUSTED_ORIGINS", "CURL_USER_AGENT", "GIT_DOMAINS", "MEDIA_MAX_SIZE",
    "MEDIA_TIMEOUT", "OUTPUT_PERMISSIONS", "PUBLIC_ADD_VIEW", "PUBLIC_INDEX", "PUBLIC_SNAPSHOTS", "RESOLUTION",
    "REVERSE_PROXY_USER_HEADER", "REVERSE_PROXY_WHITELIST", "SAVE_ARCHIVE_DOT_ORG", "SAVE_DOM", "SAVE_FAVICON",
    "SAVE_GIT", "SAVE_HEADERS", "SAVE_MEDIA", "SAVE_MERCURY", "SAVE_PDF", "SAVE_READABILITY", "SAVE_SCREENSHOT",
    "SAVE_SINGLEFILE", "SAVE_TITLE", "SAVE_WARC", "SAVE_WGET", "SEARCH_BACKEND_ENGINE", "SEARCH_BACKEND_HOST_NAME",
    "SEARCH_BACKEND_PASSWORD", "TIMEOUT", "URL_ALLOWLIST", "URL_BLACKLIST", "URL_DENYLIST", "URL_WHITELIST",
    "USE_CHROME", "WGET_USER_AGENT", "YOUTUBEDL_ARGS", "YOUTUBEDL_EXTRA_ARGS",
]  # fmt: skip
"""What the documents of earlier images have people set."""
KNOWN = settings_of(discover_plugins()).canonical


@pytest.mark.parametrize("name", IMAGE)
def test_variables_of_earlier_images_are_settings_or_are_named(name: str) -> None:
    assert (name in KNOWN) != (name in SETTINGS_INSTEAD)


def test_what_is_said_instead_names_settings_that_exist() -> None:
    named = set(re.findall(r"\b[A-Z]+_[A-Z_]+\b", " ".join(SETTINGS_INSTEAD.values())))
    assert named - KNOWN.keys() == {"DATA_DIR"}


@pytest.mark.parametrize(
    ("typed", "ours"),
    [
        ("config", "config list --all"),
        ("config --json", "config list --all --json"),
        ("config --help", "config --help"),
        ("config list", "config list"),
        ("schedule --every=day https://a.test/", "schedule add --every=day https://a.test/"),
        ("schedule https://a.test/", "schedule add https://a.test/"),
        ("schedule --show", "schedule list"),
        ("schedule --help", "schedule --help"),
        ("schedule", "schedule"),
        ("schedule list", "schedule list"),
    ],
)
def test_commands_that_had_no_parts_are_taken_too(typed: str, ours: str) -> None:
    assert translated(typed.split()) == ours.split()


def group_of(command: str) -> list[str]:
    given = {"schedule": ["add", "https://a.test/"], "persona create": ["work"]}
    return [*command.split(), *given.get(command, [])]


@pytest.mark.parametrize(
    ("command", "former"), [(command, one) for command, options in OPTIONS.items() for one in options if one.instead]
)
def test_an_option_that_is_gone_is_answered_by_what_to_use(
    command: str, former: FormerOption, capsys: pytest.CaptureFixture[str]
) -> None:
    value = ["1"] if former.takes_value else []
    assert main([*group_of(command), former.name, *value]) == 2
    assert former.instead in capsys.readouterr().err


@pytest.mark.parametrize("command", OPTIONS)
def test_former_options_are_taken_but_not_shown(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Up to where the command itself runs: its page is what is asked for last."""
    taken = [word for one in OPTIONS[command] if not one.instead for word in (one.name, *["1"] * one.takes_value)]
    assert main([*group_of(command), *taken, "--help"]) == 0
    page = capsys.readouterr().out
    assert not [one.name for one in OPTIONS[command] if f" {one.name} " in page]
