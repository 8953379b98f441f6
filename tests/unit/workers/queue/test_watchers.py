"""Who says for what it waits narrows what is worked on, until somebody waits for everything."""

import os
import resource
import signal

import pytest

from archivebox.base_models.rows import new_id
from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.processes import ProcessIdentity
from archivebox.workers.queue import watchers
from archivebox.workers.queue.watchers import Only, Watcher

pytestmark = pytest.mark.usefixtures("collection")


def watch(only: Only | None = None) -> None:
    os.close(watchers.begin(DATA_FOLDER.watcher_lock(new_id()), only))


def test_somebody_who_waits_for_everything_means_everything_and_nobody_nothing() -> None:
    assert watchers.scope() == {}, "what nobody waits for was begun when the last one left"
    watch(Only(new_id()))
    watch()
    assert watchers.scope() is None


def test_crawls_and_snapshots_add_up_and_a_whole_crawl_is_all_of_it() -> None:
    crawl, other, one, two = (new_id() for _ in range(4))
    watch(Only(crawl, one))
    watch(Only(crawl, two))
    watch(Only(other))
    assert watchers.scope() == {crawl: {one, two}, other: set()}
    watch(Only(crawl))
    assert watchers.scope() == {crawl: set(), other: set()}


def test_who_finds_no_room_to_say_that_it_watches_does_not_watch() -> None:
    path = DATA_FOLDER.watcher_lock(new_id())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            watchers.begin(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert not path.exists()


def test_a_file_says_who_wrote_it_and_a_torn_one_nothing() -> None:
    path, only = DATA_FOLDER.watcher_lock(new_id()), Only(new_id(), new_id())
    os.close(watchers.begin(path, only))
    assert watchers.read(path) == Watcher(ProcessIdentity.current(), only)
    path.write_text(path.read_text()[:-5])
    assert watchers.read(path) is None
    assert watchers.scope() == {}
