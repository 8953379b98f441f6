"""What is tidied up at the seal, whatever hooks have left there."""

from pathlib import Path

import pytest

from archivebox.workers.execute.sealing import tidy


@pytest.mark.usefixtures("collection")
def test_odd_things_in_a_page_are_no_reason_to_call_its_folder_unusable(tmp_path: Path) -> None:
    for name in (".hooks", "empty", "full"):
        (tmp_path / name).mkdir()
    (tmp_path / ".hooks" / "gone.log").symlink_to("nowhere")
    (tmp_path / ".hooks" / "empty.log").touch()
    (tmp_path / ".hooks" / "said.log").write_text("said")
    (tmp_path / "full" / "page.html").write_text("page")
    (tmp_path / "link").symlink_to("empty")
    tidy(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".hooks", "full", "link"}
    assert {path.name for path in (tmp_path / ".hooks").iterdir()} == {"gone.log", "said.log"}
