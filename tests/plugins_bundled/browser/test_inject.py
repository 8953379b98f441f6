"""Libraries at work in a page, each in a world of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from archivebox.plugins.base.cdp import CommandFailed, TooLong
from archivebox.plugins.base.inject import World, read_package
from archivebox.plugins.base.tab import Tab
from tests.plugins_bundled.browser.chain import Crawl
from tests.site.serve import Site

pytestmark = pytest.mark.browser
LIBRARY = "globalThis.library = {title: () => document.title, sum: (a, b) => a + b}"
ANSWERS = "addEventListener('message', ask => ask.data === 'who' && ask.source.postMessage(location.pathname, '*'))"
WHO = """count => new Promise(resolve => {
    const found = [];
    addEventListener("message", told => { if (found.push(told.data) === count) resolve(found.sort()); });
    for (let frame = 0; frame < window.length; frame++) window[frame].postMessage("who", "*");
})"""


@pytest.fixture(scope="module")
def tab(crawl: Crawl, site: Site) -> Iterator[Tab]:
    snapshot = crawl.snapshot("frames", site.url_for("/iframe"))
    assert snapshot.navigate().status == "succeeded"
    tab = Tab.attach(str(snapshot.folder / "chrome"), read_only=True)
    yield tab
    tab.close()
    snapshot.close()


def test_a_library_sees_the_document_and_the_page_sees_no_library(tab: Tab) -> None:
    tab.evaluate("globalThis.of_the_page = 1")
    world = World(tab, "sees")
    world.put(LIBRARY)
    assert world.call("() => library.title()") == tab.evaluate("document.title")
    assert world.call("(a, b) => library.sum(a, b)", 1, 2) == 3
    assert world.call("() => typeof of_the_page") == "undefined"
    assert tab.evaluate("typeof library") == "undefined"


def test_a_script_for_every_frame_is_in_those_of_other_sites_too(tab: Tab) -> None:
    world = World(tab, "frames")
    world.put(ANSWERS, every_frame=True)
    assert world.call(WHO, 4) == ["/blue", "/frame", "/green", "srcdoc"]


def test_scripts_ask_us_while_they_are_waited_for(tab: Tab) -> None:
    world = World(tab, "asks")
    world.expose("twice", lambda number: number * 2)
    assert world.call("async () => [await twice(1), ...(await Promise.all([twice(2), twice(3)]))]") == [2, 4, 6]


def test_a_function_that_throws_is_a_sentence(tab: Tab) -> None:
    with pytest.raises(CommandFailed, match="no such thing"):
        World(tab, "throws").call("() => { throw new Error('no such thing') }")


def test_a_function_that_never_answers_is_ended(tab: Tab) -> None:
    with pytest.raises(TooLong, match="slow was not done"):
        World(tab, "slow").call("() => new Promise(() => {})", timeout=0.2)


def test_the_file_of_a_package_is_read_where_packages_are_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NODE_MODULES_DIR", str(tmp_path))
    (tmp_path / "@scope" / "library").mkdir(parents=True)
    (tmp_path / "@scope" / "library" / "index.js").write_text(LIBRARY)
    assert read_package("@scope/library", "index.js") == LIBRARY
    with pytest.raises(SystemExit):
        read_package("other", "index.js")
    assert "other is not installed" in capfd.readouterr().err
