from pathlib import Path

from archivebox.machine.logtail import read_tail


def test_a_log_that_is_not_there_has_no_tail(tmp_path: Path) -> None:
    assert read_tail(tmp_path / "no.log") == ("", 0)
