"""The words of earlier versions are taken, or answered by what to use; the documents name each."""

from __future__ import annotations

from pathlib import Path

import pytest

from archivebox.cli.former import INSTEAD, SAME, translated
from archivebox.cli.main import main
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
