"""What becomes of hooks, tabs and the browser when one of them ends."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from archivebox.plugins.base.cdp import CDPConnection, CDPError
from archivebox.plugins.base.tab import Tab
from tests.plugins_bundled.browser.chain import NAVIGATE, PAGE_HOOKS, TAB_HOOK, Crawl, Snapshot, wait_for_end
from tests.site.serve import Site

pytestmark = pytest.mark.browser
SCREENSHOT, PDF, DOM, TITLE, HEADERS, FAVICON, OUTLINKS = PAGE_HOOKS
SOON = 90.0  # seconds that mean "not for ever" on a loaded machine
MEMORY_FOLDER, FOLDER_PREFIX = "/dev/shm", "archivebox-chrome-"
STORED = 1 << 20
STORE_EVERYWHERE = f"""(async () => {{
    const bytes = crypto.getRandomValues(new Uint8Array(65536));
    const much = new Blob(Array({STORED} / bytes.length).fill(bytes));
    await (await caches.open("test")).put("/stored", new Response(much));
    const file = await (await navigator.storage.getDirectory()).getFileHandle("stored", {{create: true}});
    const writable = await file.createWritable();
    await writable.write(much);
    await writable.close();
    const database = await new Promise((resolve) => {{
        const request = indexedDB.open("test");
        request.onupgradeneeded = () => request.result.createObjectStore("stored");
        request.onsuccess = () => resolve(request.result);
    }});
    const transaction = database.transaction("stored", "readwrite", {{durability: "strict"}});
    transaction.objectStore("stored").put(much, "stored");
    await new Promise((resolve) => transaction.oncomplete = resolve);
    localStorage.setItem("stored", "x".repeat({STORED}));
    return "stored";
}})()"""


def _has_room_in_memory() -> bool:
    try:
        status = os.statvfs(MEMORY_FOLDER)
    except FileNotFoundError:
        return False
    return status.f_bavail * status.f_frsize >= 1 << 30


IN_MEMORY = pytest.mark.skipif(not _has_room_in_memory(), reason="no room in shared memory")


@pytest.fixture
def own_crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path, TIMEOUT="30")


def opened(crawl: Crawl, site: Site, path: str = "/colour") -> Snapshot:
    snapshot = crawl.snapshot("snapshot", site.url.rstrip("/") + path)
    assert snapshot.navigate().status == "succeeded"
    return snapshot


def profile_of(crawl: Crawl) -> Path:
    words = Path(f"/proc/{crawl.session()['pid']}/cmdline").read_text().split("\0")
    (profile,) = (word.partition("=")[2] for word in words if word.startswith("--user-data-dir="))
    return Path(profile)


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def kill_renderers(crawl: Crawl) -> None:
    connection = CDPConnection.open(crawl.session()["socket"])
    for process in connection.call("SystemInfo.getProcessInfo")["processInfo"]:
        if process["type"] == "renderer":
            os.kill(process["id"], signal.SIGKILL)
    connection.close()


@pytest.mark.default
def test_after_term_nothing_is_left(own_crawl: Crawl, site: Site) -> None:
    with own_crawl as crawl:
        snapshot = opened(crawl, site)
        profile = Path(crawl.session()["folder"])
        assert profile.is_dir()
        assert len(crawl.browser_processes()) > 3
        assert snapshot.close().status == "succeeded"
        assert crawl.browser is not None
        outcome = crawl.browser.stop()
        assert outcome.code == 0, outcome
        assert not crawl.browser_processes()
        assert not profile.exists()
        assert not (crawl.folder / "chrome" / "session.json").exists()
        told = [record for record in outcome.records if record["type"] == "Process"]
        assert told[0]["id"] == told[-1]["id"]
        assert "exit_code" in told[-1]


@IN_MEMORY
def test_a_profile_is_in_memory_without_what_pages_store(tmp_path: Path, site: Site) -> None:
    with Crawl(tmp_path, TIMEOUT="30", TMPDIR="") as crawl:
        tab = Tab.attach(str(opened(crawl, site).folder / "chrome"), read_only=True)
        folder, profile = Path(crawl.session()["folder"]), profile_of(crawl)
        assert str(profile).startswith(f"{MEMORY_FOLDER}/{FOLDER_PREFIX}")
        in_memory, on_disk = size_of(profile), size_of(folder)
        assert tab.evaluate(STORE_EVERYWHERE, wait=True) == "stored"
        assert size_of(folder) - on_disk > 3 * STORED
        assert size_of(profile) - in_memory < STORED
        tab.close()
        assert crawl.browser is not None
        assert crawl.browser.stop().code == 0
        assert not profile.parent.exists()
        assert not folder.exists()


@IN_MEMORY
def test_the_next_browser_removes_what_one_left_in_memory(tmp_path: Path) -> None:
    with Crawl(tmp_path, TIMEOUT="30", TMPDIR="") as crawl:
        assert crawl.browser is not None
        left = profile_of(crawl).parent
        pid = crawl.session()["pid"]
        crawl.browser.process.kill()
        assert wait_for_end(pid, SOON)
        assert left.exists(), "who was there before cannot know"
        with Crawl(tmp_path / "other", TMPDIR="") as other:
            assert not left.exists()
            assert profile_of(other).exists()


def test_everybody_learns_of_the_death_of_the_browser(own_crawl: Crawl, site: Site) -> None:
    with own_crawl as crawl:
        snapshot = opened(crawl, site)
        hanging = snapshot.start(NAVIGATE)  # goes to the page again; the browser dies on it
        os.kill(crawl.session()["pid"], signal.SIGKILL)
        assert crawl.browser is not None
        assert crawl.browser.wait().code == 1
        assert snapshot.tab is not None
        tab = snapshot.tab.wait()
        assert (tab.code, tab.status) == (1, "failed"), tab
        hanging.wait()
        for hook in (SCREENSHOT, PDF, DOM, TITLE, FAVICON, OUTLINKS):
            outcome = snapshot.run(hook)
            assert (outcome.code, outcome.retry) == (1, "new_page"), outcome
        assert not crawl.browser_processes()
        assert not list(crawl.temporary.glob("archivebox-chrome-*"))


@pytest.mark.default
def test_a_crashed_tab_ends_its_holder_and_no_hook_hangs(own_crawl: Crawl, site: Site) -> None:
    with own_crawl as crawl:
        snapshot = opened(crawl, site)
        tab = Tab.attach(str(snapshot.folder / "chrome"), read_only=True)
        with pytest.raises(CDPError):
            tab.call("Page.crash", timeout=SOON)
        tab.close()
        assert snapshot.tab is not None
        assert snapshot.tab.wait().code == 1
        assert not (snapshot.folder / "chrome" / "target.json").exists()
        outcome = snapshot.run(SCREENSHOT)
        assert (outcome.code, outcome.retry) == (1, "new_page"), outcome

        assert snapshot.navigate().status == "succeeded", "the session hooks run again in the same browser"
        assert snapshot.run(SCREENSHOT).status == "succeeded"


def test_a_page_that_takes_too_much_memory_is_ended_alone_and_for_good(tmp_path: Path, site: Site) -> None:
    with Crawl(tmp_path, TIMEOUT="30", CHROME_MEMORY_MAX="500") as crawl:
        neighbour = opened(crawl, site)
        greedy = crawl.snapshot("greedy", site.url_for("/buffers")).open_tab()
        navigation = greedy.start(NAVIGATE)
        assert greedy.tab is not None
        outcome = greedy.tab.wait()
        assert (outcome.status, outcome.retry) == ("failed", None), outcome
        assert navigation.wait().status == "failed"
        assert neighbour.run(SCREENSHOT).status == "succeeded"


def test_a_page_that_somebody_else_kills_is_worth_another_try(own_crawl: Crawl, site: Site) -> None:
    """The kernel does so where memory is short, and takes whomever it likes."""
    with own_crawl as crawl:
        snapshot = opened(crawl, site)
        kill_renderers(crawl)
        assert snapshot.tab is not None
        outcome = snapshot.tab.wait()
        assert (outcome.status, outcome.retry) == ("failed", "later"), outcome
        assert "memory" not in str(outcome.result)


def test_a_page_that_is_killed_while_it_is_printed_is_printed_anew(own_crawl: Crawl, site: Site) -> None:
    with own_crawl as crawl:
        snapshot = opened(crawl, site, "/huge.html?mb=6")
        printing = snapshot.start(PDF)
        deadline = time.monotonic() + SOON
        while not (snapshot.folder / "pdf" / "output.pdf").exists() and time.monotonic() < deadline:
            time.sleep(0.01)  # the first pages are written, the others are being printed
        kill_renderers(crawl)
        outcome = printing.wait()
        assert (outcome.code, outcome.retry) == (1, "new_page"), outcome


@pytest.mark.default
def test_a_tab_whose_holder_was_killed_is_closed(own_crawl: Crawl, site: Site) -> None:
    with own_crawl as crawl:
        snapshot = opened(crawl, site)
        target = snapshot.json("chrome/target.json")["target_id"]
        assert target in crawl.targets()
        assert snapshot.tab is not None
        os.kill(snapshot.tab.process.pid, signal.SIGKILL)
        deadline = time.monotonic() + SOON
        while target in crawl.targets() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert target not in crawl.targets()


def test_the_browser_ends_with_its_hook_and_the_next_one_clears_up(tmp_path: Path) -> None:
    with Crawl(tmp_path, TIMEOUT="30") as crawl:
        assert crawl.browser is not None
        first = crawl.session()
        other = Crawl(tmp_path / "other", TMPDIR=str(crawl.temporary))
        with other:
            crawl.browser.process.kill()
            assert wait_for_end(first["pid"], SOON), "nobody has told it to"
        assert Path(first["folder"]).exists(), "who was there before cannot know"
        with other:
            assert not Path(first["folder"]).exists()
            assert Path(other.session()["folder"]).exists()
            crawl.launch()
            assert Path(other.session()["folder"]).exists(), "its owner lives"


def test_without_a_browser_the_tab_gives_up_in_its_time(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, CHROME_TIMEOUT="5")
    outcome = crawl.snapshot("alone", "http://127.0.0.1:9/").run(TAB_HOOK, CHROME_TIMEOUT="1")
    assert (outcome.code, outcome.retry) == (1, "later")
    assert "browser is not there" in outcome.stderr


def test_the_tab_waits_for_a_browser_that_is_still_starting(own_crawl: Crawl) -> None:
    tab = own_crawl.snapshot("early", "http://127.0.0.1:9/")
    tab.tab = tab.start(TAB_HOOK)
    with own_crawl:
        tab.tab.wait_until_ready()
        assert tab.close().status == "succeeded"


def test_a_page_that_comes_while_its_tab_is_busy_is_seen_and_asked_for_once(crawl: Crawl, site: Site) -> None:
    snapshot = crawl.snapshot("snapshot", site.url.rstrip("/") + "/colour?busy").open_tab()
    tab = snapshot.json("chrome/target.json")
    script = CDPConnection.open(tab["socket"], tab["target_id"])
    script.send("Runtime.evaluate", {"expression": "{ const start = Date.now(); while (Date.now() - start < 2000); }"})
    assert snapshot.run(NAVIGATE).status == "succeeded"
    script.close()
    assert snapshot.json("chrome/navigation.json")["seconds"]["loaded"] is not None
    assert site.hits("/colour?busy") == 1


def test_hooks_started_at_once_take_the_page_one_after_the_other(crawl: Crawl, site: Site) -> None:
    snapshot = opened(crawl, site, "/article")
    together = [snapshot.start(hook) for hook in (PDF, SCREENSHOT, PDF, DOM, TITLE)]
    assert [hook.wait().status for hook in together] == ["succeeded"] * 5


def test_a_long_temporary_folder_does_not_keep_the_browser_from_starting(tmp_path: Path) -> None:
    long = tmp_path / ("long" * 25)
    long.mkdir()
    with Crawl(tmp_path, TMPDIR=str(long)) as crawl:
        assert Path(crawl.session()["folder"]).is_dir()


def test_a_program_that_is_no_browser_is_named(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, CHROME_BINARY="/bin/false")
    outcome = crawl.start("chrome/on_Crawl__01_chrome.daemon.bg.py", crawl.folder).wait()
    assert outcome.code == 1
    assert "Chromium did not start" in outcome.stderr
    assert not list(crawl.temporary.iterdir())


def test_a_browser_that_is_stopped_while_it_starts_is_no_failure(tmp_path: Path) -> None:
    """A group's TERM reaches both: Chromium, which ends, and its hook."""
    begun, slow = tmp_path / "begun", tmp_path / "slow"
    slow.write_text(f"#!/bin/sh\necho $$ > {begun}.part\nmv {begun}.part {begun}\nexec sleep 60\n")
    slow.chmod(0o755)
    crawl = Crawl(tmp_path, CHROME_BINARY=str(slow))
    hook = crawl.start("chrome/on_Crawl__01_chrome.daemon.bg.py", crawl.folder)
    while not begun.exists():
        assert hook.process.poll() is None
        time.sleep(0.01)
    hook.process.terminate()
    os.kill(int(begun.read_text()), signal.SIGTERM)
    outcome = hook.wait()
    assert (outcome.code, "did not start" in outcome.stderr) == (0, False), outcome
    assert not list(crawl.temporary.iterdir())


def test_a_missing_browser_is_a_sentence(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, CHROME_BINARY="/nowhere/chromium")
    outcome = crawl.start("chrome/on_Crawl__01_chrome.daemon.bg.py", crawl.folder).wait()
    assert outcome.code == 1
    assert "Install it with" in outcome.stderr
    assert not list(crawl.temporary.iterdir())
