"""Which profile Chromium runs on: the person's own, a copy of the persona's, or a fresh one."""

from __future__ import annotations

import json
import os
import shutil

from archivebox.plugins.base import Settings, misconfigured

NO_PERSONA = "Default"  # need not have a folder
# What Chromium makes anew, and the locks of one that runs on the original.
LEFT_OUT = shutil.ignore_patterns(
    "Singleton*",
    "lockfile",
    "Cache",
    "Code Cache",
    "GPUCache",
    "*ShaderCache",
    "Dawn*Cache",
    "Crashpad",
    "BrowserMetrics*",
)
# What a page can fill, below the profile: kept on disk where the rest is in memory.
FILLED_BY_PAGES = (
    "Cache",
    "Code Cache",
    "File System",
    "IndexedDB",
    "Local Storage",
    "Service Worker",
    "Session Storage",
    "Shared Dictionary",
    "WebStorage",
    "blob_storage",
)


def make_profile(settings: Settings, folder: str, in_memory: str = "") -> str:
    """Return the profile to use; what is made for this crawl alone lies in `folder`, with which it goes.

    `in_memory`: a folder for a fresh one, of which then only what pages can fill lies in `folder`.

    Crawls that share a persona run on a copy each: Chromium locks its profile, and what one page leaves in it (cookies
    of trackers, a log-out) would meet all later ones.
    """
    own = settings.path("CHROME_USER_DATA_DIR")
    if own:
        return own
    profile = os.path.join(in_memory or folder, "profile")
    persona = _profile_of_persona()
    if persona:
        shutil.copytree(persona, profile, symlinks=True, ignore=LEFT_OUT)
    elif in_memory:
        _keep_on_disk(folder, profile)
    _keep_downloads_in(os.path.join(folder, "downloads"), profile)
    return profile


def is_fresh(settings: Settings) -> bool:
    """Say whether the browser starts on an empty profile, whichever crawl it is for."""
    return not settings.path("CHROME_USER_DATA_DIR") and not _profile_of_persona()


def _profile_of_persona() -> str:
    """Return the profile of the crawl's persona, '' where it has none, or the page is visited as nobody."""
    name = os.environ.get("ACTIVE_PERSONA", NO_PERSONA)
    if not name:
        return ""
    folder = os.path.join(os.environ.get("PERSONAS_DIR", ""), name)
    if name != NO_PERSONA and not os.path.isdir(folder):
        misconfigured(f"There is no persona {name}. Make it with: archivebox persona create '{name}'")
    profile = os.path.join(folder, "profile")
    return profile if os.path.isdir(profile) else ""


def _keep_on_disk(folder: str, profile: str) -> None:
    """Have Chromium write there what pages can fill."""
    default = os.path.join(profile, "Default")
    os.makedirs(default)
    for name in FILLED_BY_PAGES:
        os.mkdir(os.path.join(folder, name))
        os.symlink(os.path.join(folder, name), os.path.join(default, name))


def _keep_downloads_in(downloads: str, profile: str) -> None:
    """Have downloads go to a folder that is removed, and nobody but the site asked why a page does not load.

    The relay forbids them all, but a hook that allows them for itself and goes leaves the browser as it was started.
    """
    path = os.path.join(profile, "Default", "Preferences")
    preferences: dict[str, object] = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            preferences = json.load(file)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        ours = {"download": {"default_directory": downloads}, "alternate_error_pages": {"enabled": False}}
        json.dump(preferences | ours, file)
