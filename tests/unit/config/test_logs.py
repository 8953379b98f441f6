"""One line a message."""

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from archivebox.config import logs


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    logger = logging.getLogger(logs.LOGGER)
    before = (list(logger.handlers), logger.level, logger.propagate)
    logger.handlers.clear()
    yield
    for handler in logger.handlers:
        handler.close()
    logger.handlers[:], logger.level, logger.propagate = before


def test_a_line_is_a_sentence_then_action_and_ids(tmp_path: Path) -> None:
    logs.set_up("INFO", tmp_path / "x.log")
    extra = {"process_id": "0198", "action": "hook_ended", "note": 'a "b" = c', "empty": ""}
    logging.getLogger("archivebox.workers.execute.worker").info("The hook %s ended.", "wget", extra=extra)
    logging.getLogger("archivebox.workers").debug("unheard")
    (line,) = (tmp_path / "x.log").read_text().splitlines()
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO archivebox\.workers\.execute\.worker The hook wget ended\. "
        r'action=hook_ended empty="" note="a \\"b\\" = c" process_id=0198',
        line,
    )


@pytest.mark.parametrize("text", ["a\nINFO forged", "a\rb", "\x1b[2J", "a\u2028b", "\ud800", "\0"])
def test_no_message_can_pretend_to_be_two(tmp_path: Path, text: str) -> None:
    logger = logs.set_up("INFO", tmp_path / "x.log")
    logger.warning("Printed: %s", text, extra={"title": text})
    written = (tmp_path / "x.log").read_text()
    assert len(written.splitlines()) == 1
    assert written.rstrip("\n").isprintable()


def test_a_traceback_follows_indented(tmp_path: Path) -> None:
    logger = logs.set_up("INFO", tmp_path / "x.log")
    try:
        int("first\nsecond")
    except ValueError:
        logger.exception("It failed.")
    first, *rest = (tmp_path / "x.log").read_text().splitlines()
    assert first.endswith("It failed.")
    assert rest
    assert all(line.startswith("    ") for line in rest)


def test_a_second_set_up_replaces_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("INFO", tmp_path / "one.log")
    logger = logs.set_up("ERROR")
    logger.warning("unheard")
    logger.error("heard")
    assert (tmp_path / "one.log").read_text() == ""
    assert capsys.readouterr().err.count("heard") == 1
    with pytest.raises(ValueError, match="LOUD"):
        logs.set_up("LOUD")
