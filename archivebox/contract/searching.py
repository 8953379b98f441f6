"""Owns what a search backend says of itself: which engine it is, and the script that answers."""

from dataclasses import dataclass

from archivebox.lib.jsonl import JSON


@dataclass(frozen=True, slots=True)
class DeclaredBackend:
    """``engine``: what ``SEARCH_BACKEND_ENGINE`` calls it. ``script``: a Python file in the plugin's folder."""

    engine: str
    script: str


def read_search(declared: JSON) -> tuple[DeclaredBackend | None, tuple[str, ...]]:
    """The ``x-search`` of a config.json, and a sentence where it is not understood and ignored."""
    if declared is None:
        return None, ()
    if isinstance(declared, dict) and declared.keys() == {"engine", "script"}:
        engine, script = declared["engine"], declared["script"]
        if isinstance(engine, str) and isinstance(script, str) and engine and script:
            return DeclaredBackend(engine, script), ()
    return None, ('"x-search" wants an "engine" and a "script", both text, and is ignored',)
