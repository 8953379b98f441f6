#!/usr/bin/env python3
"""Keep the page in one file, `singlefile.html`: SingleFile works in the open tab, on what the tab has loaded.

Its command would open the page again in a tab of its own (7.5 s instead of 0.5 s, and a second download). SingleFile is
the program of the person who installed it; its script is taken from there and put into the page as it is.
"""

from __future__ import annotations

import base64
import json
import os
import re

from archivebox.plugins.base import (
    Settings,
    failed,
    find_program,
    log,
    misconfigured,
    ready,
    succeeded,
    write_atomically,
)
from archivebox.plugins.base.cdp import CallTimeout, CommandFailed
from archivebox.plugins.base.inject import ShownPage
from archivebox.plugins.base.pictures import Smaller
from archivebox.plugins.base.resources import Resources
from archivebox.plugins.base.tab import open_page

TYPE_CHECKING = False
if TYPE_CHECKING:
    from archivebox.plugins.base.cdp import Params
    from archivebox.plugins.base.tab import Tab

FILE = "singlefile.html"
BUNDLE = "lib/single-file-bundle.js"  # a module of JavaScript that holds each script as a text
# What the page's own addresses for bytes lead to is to be had in the page alone.
FETCH = """() => singlefile.init({fetch: async url => {
    if (/^(data|blob):/.test(url)) return fetch(url);
    const found = await resource(url);
    if (!found) throw new Error("nothing was kept of " + url);
    const {buffer} = Uint8Array.from(atob(found.body), letter => letter.charCodeAt(0));
    return {status: found.status, headers: new Headers({"content-type": found.type}), arrayBuffer: async () => buffer};
}})"""
# By the name by which extensions ask for a closed shadow root, SingleFile asks as well.
CLOSED_ROOTS = "() => { globalThis.chrome = {dom: {openOrClosedShadowRoot: shown.rootOf}}; }"
MEDIA = "() => [...document.querySelectorAll('audio, video')].map(one => one.currentSrc || one.src)"
MEDIA_MAX = 5_000_000  # bytes of sound and films that play in the file; others are a picture with a link
STILL = os.path.join(os.path.dirname(os.path.realpath(__file__)), "still.js")
SAVE = """options => still.begin()
    .then(() => singlefile.getPageData(options)).then(page => page.content).finally(still.end)"""


class Supply:
    """What SingleFile asks for, up to a size."""

    def __init__(self, resources: Resources, size_max: int) -> None:
        self._resources, self._left = resources, size_max
        self.missing = 0

    def give(self, url: str) -> dict[str, object] | None:
        found = self._resources.get(url, self._left)
        if found is None or (found.type.startswith(("audio/", "video/")) and len(found.body) > MEDIA_MAX):
            log(f"left out: {url[:200]}")
            self.missing += 1
            return None
        self._left -= len(found.body)
        return {"status": found.status, "type": found.type, "body": base64.b64encode(found.body).decode()}


def capture_clip(tab: Tab, box: Params) -> str:
    """Return a part of the page as it is drawn, a PNG in base64, transparent where nothing is; "" without a picture."""
    is_beyond = box.pop("isBeyond")
    options = {"format": "png", "captureBeyondViewport": is_beyond, "clip": {**box, "scale": 1}}
    tab.call("Emulation.setDefaultBackgroundColorOverride", {"color": {"r": 0, "g": 0, "b": 0, "a": 0}})
    try:
        return str(tab.call("Page.captureScreenshot", options)["data"])
    except (CallTimeout, CommandFailed) as error:
        log(f"a drawing could not be taken: {error}")
        return ""
    finally:
        tab.call("Emulation.setDefaultBackgroundColorOverride")


def read_script(program: str) -> str:
    """Return SingleFile's script for pages, out of the npm package that `program` belongs to."""
    path = os.path.join(os.path.dirname(os.path.realpath(program)), BUNDLE)
    try:
        with open(path, encoding="utf-8") as file:
            _, _, text = file.read().partition("const script = ")
        script: str = json.JSONDecoder().raw_decode(text)[0]
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        misconfigured(f"{program} is not of the npm package single-file-cli, or of a version unknown here: {error}")
    return script


def read_options(arguments: list[str]) -> dict[str, object]:
    """`--block-scripts --max-resource-size=5` as SingleFile's functions name it: `{blockScripts: true, …: 5}`."""
    options: dict[str, object] = {}
    for argument in arguments:
        name, given, value = argument.lstrip("-").partition("=")
        key = re.sub("-(.)", lambda found: found[1].upper(), name)
        try:
            options[key] = json.loads(value) if given else True
        except ValueError:
            options[key] = value
    return options


def main() -> None:
    settings = Settings()
    timeout = settings.timeout("SINGLEFILE")
    script = read_script(find_program(settings.path("SINGLEFILE_BINARY")))
    options = read_options(settings.list("SINGLEFILE_ARGS") + settings.list("SINGLEFILE_ARGS_EXTRA"))
    with open_page(timeout) as tab:
        resources = Resources(tab)
        supply = Supply(resources, settings.int("SINGLEFILE_MAX_SIZE"))
        world = ShownPage(tab, "singlefile", frames=False).world
        world.call(CLOSED_ROOTS)
        world.put(script, every_frame=True)
        with open(STILL, encoding="utf-8") as file:
            world.put(file.read())
        world.expose("resource", supply.give)
        world.expose("fonts", lambda _: resources.fonts())
        world.expose("clip", lambda box: capture_clip(tab, box))
        world.call(FETCH)
        media = world.call(MEDIA)
        plays = bool(media) and resources.has_whole(media, MEDIA_MAX)
        options = {"blockAudios": not plays, "blockVideos": not plays} | options
        try:
            html = world.call(SAVE, options, timeout=timeout)
        except CommandFailed as error:
            tab.make_answer()  # it is lost where the renderer was killed meanwhile
            sentence, _, _ = str(error).partition("\n")  # below it is where in the script
            failed(f"SingleFile could not save the page: {sentence}")
    write_atomically(FILE, html)
    ready()
    if len(smaller := Smaller().text(html)) < len(html):
        write_atomically(FILE, smaller)
    succeeded(FILE, {"missing": supply.missing})


if __name__ == "__main__":
    main()
