"""Owns the Content-Security-Policy of script views: they reach their own recording, and nothing else."""

from archivebox.replay.origins import framers, host_name, sandbox
from archivebox.replay.scripts.place import FOREIGN

VIOLATIONS = f"{FOREIGN}violations"
"""Where browsers report what the policy has refused."""


def view_policy(host: str, mimetype: str, app_url: str = "", *, scripts: bool, is_clean: bool) -> str:
    """The policy of an answer on the host of a script view.

    ``scripts`` run in documents within a frame of the app, and in workers; in everything else, which may be opened as a
    tab, they do not. ``is_clean``: see :func:`archivebox.replay.origins.policy`.
    """
    inline = "'self' 'unsafe-inline' data: blob:"
    directives = [
        f"default-src {inline}",
        f"script-src {inline} 'unsafe-eval'" if scripts else "script-src 'none'",
        "connect-src 'self' data: blob:" if scripts else "connect-src 'none'",
        "worker-src 'self' data: blob:" if scripts else "worker-src 'none'",
        "form-action 'none'",
        "base-uri 'self'",
        "frame-src 'self' data: blob:",
        f"frame-ancestors 'self' {framers(host_name(host).partition('.')[2], app_url)}",
        "webrtc 'block'",
        f"report-uri {VIOLATIONS}",
    ]
    if mimetype != "application/pdf":
        directives.append(f"sandbox {sandbox(own=is_clean, scripts=scripts, links=False)}".strip())
    return "; ".join(directives)
