"""Owns exports as one zip file: a folder of files for each page, and a page that lists them."""

import html
import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from archivebox.export.pages import ExportedPage

FACTS = "page.json"
INDEX = "index.html"
IS_COMPRESSED = (
    ".gz", ".zip", ".png", ".jpg", ".jpeg", ".webp", ".avif", ".gif", ".mp4", ".webm", ".mkv", ".mp3", ".m4a", ".opus",
    ".woff2", ".pdf",
)  # fmt: skip
HEAD = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Archived pages</title>
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
li{margin:.75rem 0}small{display:block;opacity:.7;overflow-wrap:anywhere}</style>
<h1>Archived pages</h1><ul>
"""


class ZipWriter:
    """One zip file that stays open between parts; one whose end was never written is begun anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._zip: ZipFile | None = None
        self.length = 0

    def take_up(self, length: int) -> bool:
        if length and self._path.exists():
            try:
                self._zip = ZipFile(self._path, "a", ZIP_DEFLATED)
            except BadZipFile:
                return self._begin()
            if self._zip.start_dir == length:
                self.length = length
                return True
            self.close()
        return self._begin() or not length

    def _begin(self) -> bool:
        self._path.unlink(missing_ok=True)
        self.length = 0
        return False

    def back_to(self, length: int) -> None:
        """Within one process no part is done twice."""

    def append(self, pages: Sequence[ExportedPage]) -> dict[UUID, str]:
        found = {page.snapshot.pk: self._append(page) for page in pages}
        self.length = self._open().start_dir
        return {key: problem for key, problem in found.items() if problem}

    def _append(self, page: ExportedPage) -> str:
        folder, names = _folder_of(page), page.files()
        for name in names:
            self._add(page.snapshot.path / name, f"{folder}/{name_of(name)}")
        self._open().writestr(f"{folder}/{FACTS}", json.dumps(page.record(), ensure_ascii=False, indent=1))
        return "" if names else "It has no files: nothing was kept."

    def _add(self, path: Path, name: str) -> None:
        info = ZipInfo.from_file(path, name, strict_timestamps=False)
        info.compress_type = ZIP_STORED if path.suffix.lower() in IS_COMPRESSED else ZIP_DEFLATED
        with path.open("rb") as source, self._open().open(info, "w") as target:
            shutil.copyfileobj(source, target)

    def _open(self) -> ZipFile:
        if self._zip is None:
            self._zip = ZipFile(self._path, "w", ZIP_DEFLATED)
        return self._zip

    def finish(self) -> None:
        whole = self._open()
        facts = [name for name in whole.namelist() if name.endswith(f"/{FACTS}") and name.count("/") == 1]
        if INDEX not in whole.namelist():
            lines = "".join(_line(name.partition("/")[0], json.loads(whole.read(name))) for name in facts)
            whole.writestr(INDEX, f"{HEAD}{lines}</ul></html>\n")
        self.close()

    def close(self) -> None:
        if self._zip is not None:
            self._zip.close()
            self._zip = None


def name_of(path: str) -> str:
    """A file's path as it stands in the zip: any bytes may be in its name, and Windows parts folders by a backslash."""
    return os.fsencode(path).decode("utf-8", "replace").replace("\\", "_")


def _folder_of(page: ExportedPage) -> str:
    one = page.snapshot
    return f"{one.created_at:%Y%m%d}-{one.domain}-{str(one.pk)[-12:]}"


def _line(folder: str, facts: dict[str, str]) -> str:
    shown = html.escape(facts["title"] or facts["url"])
    about = f"{html.escape(facts['url'])}, {facts['created_at'][:10]}"
    return f'<li><a href="{html.escape(folder)}/">{shown}</a><small>{about}</small>\n'
