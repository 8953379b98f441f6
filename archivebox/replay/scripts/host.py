"""Owns the host names of script views: ``v-<label>`` below the name of the replay origin."""

import re

from archivebox.replay.origins import LOCAL_NAMES, Replay, host_name

LABEL_BYTES = 16
"""128 random bits."""
_PREFIX = "v-"
_LABEL = re.compile(rf"{_PREFIX}([0-9a-f]{{{2 * LABEL_BYTES}}})")


def label_of_host(host: str) -> str:
    """The label in a Host header; empty where the host is not that of a script view."""
    found = _LABEL.fullmatch(host_name(host).partition(".")[0])
    return found[1] if found else ""


def origin_of_view(replay: Replay, label: str, app_host: str) -> str:
    """Scheme, host and port of a view; ValueError where no scripts may run."""
    if not replay.runs_scripts(app_host):
        raise ValueError("scripts run only where each snapshot has a host name of its own, on another site")
    if replay.url:
        return replay.url.replace("*", f"{_PREFIX}{label}")
    return f"http://{_PREFIX}{label}.{LOCAL_NAMES[0]}:{replay.port}"
