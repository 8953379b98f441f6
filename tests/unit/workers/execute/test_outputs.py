"""What running hooks write is noticed, whoever notices it."""

import asyncio
from pathlib import Path

import pytest

from archivebox.lib import processes
from archivebox.workers.execute.outputs import PolledOutputs, WatchedOutputs
from tests.factories import LIMIT

KINDS = [PolledOutputs, pytest.param(WatchedOutputs, marks=pytest.mark.skipif(processes.PORTABLE, reason="no inotify"))]

Kind = type[PolledOutputs | WatchedOutputs]


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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at_once", [True, False])
def test_growth_is_told(kind: Kind, at_once: bool, tmp_path: Path) -> None:
    async def scene() -> None:
        outputs, log = kind(asyncio.get_running_loop()), Log(tmp_path / "a.log")
        outputs.watch(log.path, log.read, at_once=at_once)
        log.write()
        await asyncio.wait_for(log.grown.wait(), LIMIT)
        outputs.close()

    asyncio.run(scene())


@pytest.mark.parametrize("kind", KINDS)
def test_after_unwatch_nobody_is_called(kind: Kind, tmp_path: Path) -> None:
    async def scene() -> None:
        outputs = kind(asyncio.get_running_loop())
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_read_may_end_the_watching_of_another(kind: Kind, tmp_path: Path) -> None:
    async def scene() -> None:
        outputs = kind(asyncio.get_running_loop())
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_that_was_let_go_may_be_watched_again(kind: Kind, tmp_path: Path) -> None:
    async def scene() -> None:
        outputs, log = kind(asyncio.get_running_loop()), Log(tmp_path / "a.log")
        outputs.watch(log.path, log.read, at_once=True)
        outputs.unwatch(log.path)
        outputs.unwatch_folder(str(tmp_path))
        outputs.watch(log.path, log.read, at_once=True)
        log.write()
        await asyncio.wait_for(log.grown.wait(), LIMIT)
        outputs.close()

    asyncio.run(scene())
