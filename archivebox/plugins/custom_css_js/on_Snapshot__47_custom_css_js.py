#!/usr/bin/env python3
"""Put the person's own style sheets and scripts into the page, in its own world, before anything of it is kept."""

from __future__ import annotations

import json
import os

from files import files_for

from archivebox.plugins.base import Hook, Settings, failed, misconfigured, noresults, succeeded
from archivebox.plugins.base.cdp import CallTimeout, CommandFailed
from archivebox.plugins.base.tab import Tab, open_page

SHARE = 6  # of the hook's time, for one script with the promise that it returns: 10 s of 60
SIZE_MAX = 5_000_000  # bytes of one file
STYLE = """
(text => {
    const style = document.createElement("style");
    style.append(text);
    document.documentElement.append(style);
})(%s)
"""


def chosen_files(url: str, settings: Settings) -> list[str]:
    """Return the files for this page; a folder that was named and is not there is a mistake."""
    named = settings.path("CUSTOM_CSS_JS_DIR")
    if named and not os.path.isdir(named):
        misconfigured(f"CUSTOM_CSS_JS_DIR names {named}, which is not a folder.")
    folder = named or os.path.join(os.environ.get("DATA_DIR", ""), "custom_css_js")
    further = [os.path.expanduser(name) for name in settings.list("CUSTOM_CSS_JS_FILES")]
    return [*files_for(url, folder), *further]


def read(path: str) -> str:
    """Return the text of a file. Ends the hook where it is none."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(SIZE_MAX + 1)
    except (OSError, UnicodeDecodeError) as error:
        misconfigured(f"{path} cannot be read: {error}")
    if len(text) > SIZE_MAX:
        misconfigured(f"{path} is larger than {SIZE_MAX // 1_000_000} MB, which no style sheet or script of a page is.")
    return text


def put_in(tab: Tab, path: str, text: str, seconds: float) -> str:
    """Put one file into the page and return what went wrong, '' where nothing did."""
    try:
        if path.endswith(".css"):
            tab.evaluate(STYLE % json.dumps(text))
        else:
            tab.evaluate(text, timeout=seconds, wait=True)
    except CommandFailed as error:
        return f"{os.path.basename(path)}: {str(error).splitlines()[0]}"
    except CallTimeout:
        tab.make_answer()
        return f"{os.path.basename(path)}: still at work after {seconds:g} s"
    return ""


def main() -> None:
    hook, settings = Hook.from_argv(), Settings()
    files = chosen_files(hook.url, settings)
    if not files:
        noresults("no file is named after this page or its host")
    texts = [(path, read(path)) for path in files]
    timeout = settings.timeout("CUSTOM_CSS_JS")
    seconds = timeout / SHARE
    with open_page(timeout) as tab:
        problems = list(filter(None, (put_in(tab, path, text, seconds) for path, text in texts)))
    if problems:
        failed("; ".join(problems), {"files": files})
    succeeded(f"put in {', '.join(map(os.path.basename, files))}", {"files": files})


if __name__ == "__main__":
    main()
