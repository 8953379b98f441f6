"""Owns the Content-Security-Policy of script views: they reach their own recording, and nothing else."""

from archivebox.replay.origins import framers, host_name, policy_of, sandbox
from archivebox.replay.scripts.place import FOREIGN

VIOLATIONS = f"{FOREIGN}violations"
"""Where browsers report what the policy has refused."""


def view_policy(host: str, mimetype: str, app_url: str = "", *, scripts: bool, is_clean: bool) -> str:
    """The policy of an answer on the host of a script view.

    ``scripts`` run in documents within a frame of the app, and in workers; in everything else, which may be opened as a
    tab, they do not. ``is_clean``: see :func:`archivebox.replay.origins.policy`.
    """
    own = "'self' data: blob:" if scripts else "'none'"
    inline = f"{own} 'unsafe-inline' 'unsafe-eval'" if scripts else own
    reaching = (f"script-src {inline}", f"connect-src {own}", f"worker-src {own}", f"report-uri {VIOLATIONS}")
    in_sandbox = sandbox(own=is_clean, scripts=scripts, links=False) if mimetype != "application/pdf" else None
    return policy_of(reaching, framers(host_name(host).partition(".")[2], app_url), in_sandbox)
