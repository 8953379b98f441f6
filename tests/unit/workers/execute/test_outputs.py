"""What running hooks write is noticed, whoever notices it."""

import asyncio
from pathlib import Path

import pytest

from archivebox.lib import processes
from archivebox.lib.file_watch import FileWatcher
from archivebox.workers.execute.hooks.output_watch import POLL_EVERY, Outputs
from tests.factories import LIMIT

POLLS = [True, pytest.param(False, marks=pytest.mark.skipif(processes.PORTABLE, reason="no inotify"))]


def outputs_of(*, polls: bool) -> Outputs:
    return Outputs(asyncio.get_running_loop(), FileWatcher(POLL_EVERY, polls=polls))


class Log:
    """A file that grows, and how much of it was there at each read."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self.path = str(path)
        self.sizes: list[int] = []
        self.grown = asyncio.Event()

    def write(self) -> None:
        with Path(self.path).open("a") as file:
            file.write("a line\n")

    def read(self) -> None:
        self.sizes.append(Path(self.path).stat().st_size)
        if self.sizes[-1]:
            self.grown.set()


@pytest.mark.parametrize("polls", POLLS)
@pytest.mark.parametrize("at_once", [True, False])
def test_growth_is_told(polls: bool, at_once: bool, tmp_path: Path) -> None:
    async def scene() -> None:
        outputs, log = outputs_of(polls=polls), Log(tmp_path / "a.log")
        outputs.watch(log.path, log.read, at_once=at_once)
        log.write()
        await asyncio.wait_for(log.grown.wait(), LIMIT)
        outputs.close()

    asyncio.run(scene())


@pytest.mark.parametrize("polls", POLLS)
def test_after_unwatch_nobody_is_called(polls: bool, tmp_path: Path) -> None:
    async def scene() -> None:
        outputs = outputs_of(polls=polls)
        ended, going_on = Log(tmp_path / "ended.log"), Log(tmp_path / "going_on.log")
        for log in (ended, going_on):
            outputs.watch(log.path, log.read, at_once=False)
        outputs.unwatch(ended.path)
        for log in (ended, going_on):
            log.write()
        await asyncio.wait_for(going_on.grown.wait(), LIMIT)
        assert ended.sizes == []
        outputs.unwatch(going_on.path)
        outputs.unwatch_folder(str(tmp_path))
        outputs.close()

    asyncio.run(scene())


@pytest.mark.parametrize("polls", POLLS)
def test_a_read_may_end_the_watching_of_another(polls: bool, tmp_path: Path) -> None:
    async def scene() -> None:
        outputs = outputs_of(polls=polls)
        first, second = Log(tmp_path / "first.log"), Log(tmp_path / "second.log")

        def read() -> None:
            first.read()
            outputs.unwatch(second.path)

        outputs.watch(first.path, read, at_once=False)
        outputs.watch(second.path, second.read, at_once=False)
        first.write()
        second.write()
        await asyncio.wait_for(first.grown.wait(), LIMIT)
        assert second.sizes == []
        outputs.close()

    asyncio.run(scene())


@pytest.mark.parametrize("polls", POLLS)
def test_a_folder_that_was_let_go_may_be_watched_again(polls: bool, tmp_path: Path) -> None:
    async def scene() -> None:
        outputs, log = outputs_of(polls=polls), Log(tmp_path / "a.log")
        outputs.watch(log.path, log.read, at_once=True)
        outputs.unwatch(log.path)
        outputs.unwatch_folder(str(tmp_path))
        outputs.watch(log.path, log.read, at_once=True)
        log.write()
        await asyncio.wait_for(log.grown.wait(), LIMIT)
        outputs.close()

    asyncio.run(scene())
