"""What a hook's file name says."""

import logging
from uuid import uuid4

import pytest

from archivebox.contract.hooknames import extract_step, is_background_hook, parse_hook_name

CASES = {
    "on_Snapshot__00_first.sh": ("Snapshot", 0, 0, "first", "sh"),
    "on_Snapshot__51_screenshot.js": ("Snapshot", 51, 5, "screenshot", "js"),
    "on_Snapshot__20_chrome_tab.bg.js": ("Snapshot", 20, 2, "chrome_tab", "js"),
    "on_Snapshot__23_ssl.daemon.bg.js": ("Snapshot", 23, 2, "ssl", "js"),
    "on_Snapshot__63_ytdlp.finite.bg.py": ("Snapshot", 63, 6, "ytdlp", "py"),
    "on_Snapshot__99_last.py": ("Snapshot", 99, 9, "last", "py"),
    "on_Snapshot__unnumbered.py": ("Snapshot", None, 9, "unnumbered", "py"),
    "on_Snapshot__5_one_digit.py": ("Snapshot", None, 9, "5_one_digit", "py"),
    "on_Snapshot__500_three.py": ("Snapshot", None, 9, "500_three", "py"),
    "on_Crawl__01_chrome.bg.py": ("Crawl", 1, 0, "chrome", "py"),
    "on_CrawlSetup__01_chrome.py": ("Crawl", 1, 0, "chrome", "py"),
    "on_CrawlEnd__90_done.py": ("CrawlEnd", 90, 9, "done", "py"),
    "on_Binary__install_using_pip_provider.py": ("Binary", None, 9, "install_using_pip_provider", "py"),
    "on_Snapshot__60_x.daemon.py": ("Snapshot", 60, 6, "x.daemon", "py"),
}


@pytest.mark.parametrize("file_name", CASES)
def test_a_hook_name_is_taken_apart(file_name: str) -> None:
    name = parse_hook_name(file_name)
    assert name is not None
    assert (name.event, name.number, name.step, name.what, name.extension) == CASES[file_name]
    assert name.file_name == file_name
    assert name.background is (".bg." in file_name) is is_background_hook(file_name)
    assert (name.daemon, name.finite) == (".daemon.bg." in file_name, ".finite.bg." in file_name)
    assert extract_step(file_name) == name.step


@pytest.mark.parametrize(
    "file_name",
    [
        "", "on_.py", "on_Snapshot_50_x.py", "on_Snapshot__50_x", "on_Snapshot__50_x.rb", "on_Snapshot__50_.py",
        "on_snapshot__50_x.py", "xon_Snapshot__50_x.py", "on_Snapshot__50_x.py~", "on_Snapshot__50_x.py\n",
        "on_Snapshot__50_x y.py", "on_Snapshot__50_../x.py", "on_Snapshot__५०_x.p\u0443", "on_Snapshot__50_x.pyc", "\0",
    ],
)  # fmt: skip
def test_other_files_are_no_hooks(file_name: str) -> None:
    assert parse_hook_name(file_name) is None


def test_an_unnumbered_hook_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    name = f"on_Snapshot__{uuid4().hex}.py"
    with caplog.at_level(logging.WARNING):
        assert [extract_step(name), extract_step(name)] == [9, 9]
        extract_step(f"on_Binary__{uuid4().hex}.py")
    assert [name in record.getMessage() for record in caplog.records] == [True]
