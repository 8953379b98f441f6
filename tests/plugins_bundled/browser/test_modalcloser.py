"""What lies over a page is answered or closed before the page is kept, and what cannot be helped stays as it is."""

from __future__ import annotations

import re

import pytest
from PIL import Image

from archivebox.plugins.base.tab import Tab
from tests.plugins_bundled.browser.chain import NAVIGATE, TAB_HOOK, Crawl, Snapshot
from tests.programs import Programs
from tests.site.serve import Site

pytestmark = pytest.mark.browser
CLOSER = "modalcloser/on_Snapshot__15_modalcloser.bg.py"
WAIT = "modalcloser/on_Snapshot__48_modalcloser_wait.py"
DOM = "dom/on_Snapshot__53_dom.py"
SCREENSHOT = "screenshot/on_Snapshot__51_screenshot.py"
FOOT = (0, 720, 1440, 900)
"""Of the window: where the banners of /overlays lie, over nothing."""
OPENS_AFTER = 300
"""Milliseconds of /modal."""


def let_its_timer_pass(page: Snapshot) -> None:
    """Its window opens by a timer, which may be late: one that is set after it for as long ends after it."""
    tab = Tab.attach(str(page.folder / "chrome"), read_only=True)
    tab.evaluate(f"new Promise(done => setTimeout(done, {OPENS_AFTER}))", wait=True)
    tab.close()


class Closed:
    """A page of the local web whose windows were closed: what was said of it, and what was kept."""

    def __init__(self, crawl: Crawl, site: Site, path: str, settings: dict[str, str]) -> None:
        page = crawl.snapshot(path.strip("/"), site.url_for(path), **settings)
        page.tab = page.start(TAB_HOOK).wait_until_ready()
        closer = page.start(CLOSER).wait_until_ready()
        assert page.run(NAVIGATE).status == "succeeded"
        if path == "/modal":
            let_its_timer_pass(page)
        self.wait = page.run(WAIT)
        assert page.run(SCREENSHOT).status == "succeeded"
        self.folder = page.folder
        assert page.run(DOM).status == "succeeded"
        html = (page.folder / "dom" / "output.html").read_text()
        self.html = re.sub(r"<script>.*?</script>", "", html, flags=re.DOTALL)
        self.outcome = closer.stop()
        page.close()

    def colours_at_foot(self) -> int:
        """How many there are in the lowest part of the picture: one where nothing is drawn."""
        (file,) = (self.folder / "screenshot").glob("screenshot.*")
        with Image.open(file) as picture:
            return len(picture.convert("RGB").crop(FOOT).getcolors(1 << 24) or [])

    @property
    def sentence(self) -> str:
        assert self.outcome.result is not None, self.outcome
        return str(self.outcome.result["output_str"])


@pytest.fixture(scope="module")
def autoconsent(programs: Programs) -> dict[str, str]:
    """What hooks need to find autoconsent, which is installed from the registry."""
    programs.install("modalcloser")
    return programs.environment


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/onetrust", "closed 1 banner (autoconsent: Onetrust)"),
        ("/cookie-banner", "closed 1 banner (autoconsent: HEURISTIC-REJECT)"),
        ("/modal", "closed 1 window (its button: Newsletter)"),
    ],
)
def test_what_lies_over_the_page_is_gone_when_it_is_kept(
    crawl: Crawl, site: Site, autoconsent: dict[str, str], path: str, sentence: str
) -> None:
    page = Closed(crawl, site, path, autoconsent)
    assert page.sentence == sentence, page.outcome
    assert all(words not in page.html for words in ("Reject", "newsletter!")), page.wait
    if path != "/modal":  # which a click closes at once, before anybody waits; autoconsent takes a second
        assert page.wait.status == "succeeded", "it was waited for"
    assert "onetrust-accept" not in page.html, "consent is refused, not given"


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/overlays/open-root", r"closed 1 banner \(.*\)"),
        ("/overlays/closed-root", r"closed 1 window \(removed: cookie-box\)"),
        ("/overlays/frame", r"closed 1 banner \(removed: Consent\)"),
        ("/overlays/two", r"closed .*Cookie choices.*"),
    ],
)
def test_what_is_told_as_closed_is_gone_from_the_picture(
    crawl: Crawl, site: Site, autoconsent: dict[str, str], path: str, sentence: str
) -> None:
    page = Closed(crawl, site, path, autoconsent)
    assert re.fullmatch(sentence, page.sentence), page.outcome
    assert "left" not in page.sentence
    assert page.colours_at_foot() == 1
    for words in ("use cookies", "sp_message", "osano-cm", "onetrust-banner"):
        assert words not in page.html, page.html
    if path == "/overlays/open-root":
        assert 'data-choice="refused"' in page.html


def test_what_comes_back_is_not_told_as_closed(crawl: Crawl, site: Site) -> None:
    page = Closed(crawl, site, "/overlays/again", {})
    assert (page.outcome.status, page.sentence) == ("noresults", "left 1 banner (Cookie choices)"), page.outcome
    assert page.colours_at_foot() > 1, "it is in the picture"


def test_a_wall_without_a_button_is_taken_away_and_the_page_scrolls(
    crawl: Crawl, site: Site, autoconsent: dict[str, str]
) -> None:
    page = Closed(crawl, site, "/unclosable", autoconsent)
    assert page.sentence == "closed 1 window (removed: Subscribe to go on)", page.outcome
    assert "overflow: visible" in page.html
    assert "Your basket" in page.html, "what lies beside the page stays"


def test_a_window_that_is_the_page_stays_as_it_is(crawl: Crawl, site: Site, autoconsent: dict[str, str]) -> None:
    page = Closed(crawl, site, "/only-dialog", autoconsent)
    assert (page.outcome.status, page.sentence) == ("noresults", "left 1 window (Photo)")
    assert "The photo that was asked for" in page.html


def test_a_page_with_nothing_over_it_is_neither_changed_nor_waited_for(
    crawl: Crawl, site: Site, autoconsent: dict[str, str]
) -> None:
    page = Closed(crawl, site, "/colour", autoconsent)
    assert (page.outcome.status, page.sentence) == ("noresults", "nothing lay over the page")
    assert page.wait.status == "noresults"
    assert "autoconsent" not in page.html


def test_parts_of_a_page_that_lie_over_it_by_a_style_sheet_stay(crawl: Crawl, site: Site) -> None:
    page = Closed(crawl, site, "/overlays/styled", {})
    assert page.sentence.startswith("nothing lay over the page"), page.outcome
    assert all(part in page.html for part in ("whole card", "A heading", '<div class="wide"></div>'))


def test_without_autoconsent_windows_are_closed_and_what_is_missing_is_said(crawl: Crawl, site: Site) -> None:
    page = Closed(crawl, site, "/modal?alone", {})
    assert page.sentence == "closed 1 window (its button: Newsletter)", page.outcome
    assert "archivebox install" in page.outcome.stderr
