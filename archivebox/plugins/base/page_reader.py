"""Has a library of another make read the article of the live page, on a copy of it."""

from __future__ import annotations

from archivebox.plugins.base.cdp import CallTimeout, CommandFailed, TooLong
from archivebox.plugins.base.records import failed, noresults
from archivebox.plugins.base.settings import Settings
from archivebox.plugins.base.shown import ShownPage
from archivebox.plugins.base.tab import open_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params

MAX_ELEMENTS = 100_000  # the longest documentation pages have 30,000; these libraries need seconds for more
READ_TIME = 20.0  # seconds; usual are 0.03 to 0.1
COUNT = "() => document.getElementsByTagName('*').length"


def read_page(plugin: str, library: str, function: str) -> Params:
    """Return the object that `function`, JavaScript that uses the injected `library`, or its promise returns.

    `shown.copy()` is the copy of the document that it reads, with what shadow roots and large frames show, and
    all frames where the page has hardly any words of its own.

    The hook ends by itself where there is no article, or the library cannot cope with the page.
    """
    timeout = Settings().timeout(plugin)
    with open_page(timeout, read_only=True) as tab:
        world = ShownPage(tab, plugin, only_large=True).world
        elements = world.call(COUNT)
        if elements > MAX_ELEMENTS:
            noresults(f"the page has {elements:,} elements, and articles are looked for in {MAX_ELEMENTS:,} at most")
        try:
            world.put(library)
            article: Params | None = world.call(function, timeout=min(READ_TIME, timeout / 2))
        except CallTimeout as error:
            raise TooLong(str(error)) from None
        except CommandFailed as error:
            failed(f"{plugin} cannot read this page: {str(error).partition(chr(10))[0]}")
    return article or noresults("no article was found")
