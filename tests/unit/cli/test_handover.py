from pathlib import Path

import pytest

from archivebox.cli import handover
from archivebox.storage.layout import DataFolder


@pytest.mark.parametrize(
    ("words", "command", "folder"),
    [
        ([], "", None),
        (["add", "http://one.test/"], "add", None),
        (["--data-dir", "here", "add"], "add", "here"),
        (["--data-dir=here", "--json", "add"], "add", "here"),
        (["--data-dir=here", "add", "--data-dir", "there"], "add", "there"),
        (["--data-dir"], "", ""),
    ],
)
def test_command_and_collection_are_found_among_the_words(words: list[str], command: str, folder: str | None) -> None:
    assert handover.command_of(words) == command
    assert handover.data_dir_of(words) == folder


def test_its_socket_is_that_of_the_collection() -> None:
    folder = DataFolder(Path("/data"))
    assert folder.commands_socket == Path("/data") / handover.RUN / handover.SOCKET


@pytest.mark.parametrize("word", ["/dev/fd/63", "--file=/dev/stdin", "/proc/self/fd/5"])
def test_what_is_something_else_in_another_process_is_not_handed_over(
    monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    def connect(_run: str) -> None:
        pytest.fail("somebody was asked")

    monkeypatch.setattr(handover, "_connect", connect)
    assert handover.hand_over(["add", word]) is None


def test_without_a_server_a_command_is_done_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    assert handover.hand_over(["add", "http://one.test/"]) is None
    (tmp_path / "run").mkdir()
    assert handover.hand_over(["add", "http://one.test/"]) is None
    (tmp_path / "run" / handover.SOCKET).touch()
    assert handover.hand_over(["add", "http://one.test/"]) is None
