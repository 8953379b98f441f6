"""What a reader makes is gone with it, also where its process was killed."""

import gc

from archivebox.config.settings import DATA_FOLDER
from archivebox.imports.import_folder import Scratch


def test_a_folder_is_gone_with_its_reader() -> None:
    scratch = Scratch()
    folder = scratch.path
    (folder / "body").write_text("x")
    del scratch
    gc.collect()
    assert not folder.exists()


def test_a_folder_that_a_killed_reader_left_is_cleared_away_and_no_other() -> None:
    left = DATA_FOLDER.imports / "reading-left"
    left.mkdir(parents=True)
    (left / "body").write_text("x")
    at_work = Scratch()
    other = Scratch()
    assert not left.exists()
    assert at_work.path.is_dir()
    assert other.path.is_dir()
