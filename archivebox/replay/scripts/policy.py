"""Owns the Content-Security-Policy of script views: they reach their own recording, and nothing else."""

import re
from collections.abc import Iterator

from archivebox.replay.addresses import framers, host_name, policy_of, sandbox
from archivebox.replay.scripts.place import FOREIGN

VIOLATIONS = f"{FOREIGN}violations"
"""Where browsers report what the policy has refused."""


def view_policy(host: str, mimetype: str, app_url: str = "", *, scripts: bool, is_clean: bool) -> str:
    """The policy of an answer on the host of a script view.

    ``scripts`` run in documents within a frame of the app, and in workers; in everything else, which may be opened as a
    tab, they do not. ``is_clean``: see :func:`archivebox.replay.addresses.policy`.
    """
    own = "'self' data: blob:" if scripts else "'none'"
    inline = f"{own} 'unsafe-inline' 'unsafe-eval'" if scripts else own
    reaching = (f"script-src {inline}", f"connect-src {own}", f"worker-src {own}", f"report-uri {VIOLATIONS}")
    in_sandbox = sandbox(own=is_clean, scripts=scripts, links=False) if mimetype != "application/pdf" else None
    return policy_of(reaching, framers(host_name(host).partition(".")[2], app_url), in_sandbox)


# What the policy of the archived page forbade it (Content Security Policy 3), written for a view. It is sent beside
# that of the view, and can only forbid more: which scripts run, inline or made of text, which workers, and which styles
# hold. Hosts are written as the view, on which all that was recorded lies; what they refused was not recorded. Other
# directives are left out: the policy of the view is stricter than they are.

NOTHING = "'none'"
_KEPT = re.compile(
    r"'(?:unsafe-inline|unsafe-eval|wasm-unsafe-eval|unsafe-hashes|strict-dynamic|nonce-[\w+/=-]+|sha\d+-[\w+/=-]+)'"
    r"|data:|blob:",
    re.IGNORECASE,
)
_SINGLE = re.compile(r"'(?:nonce|sha\d+)-|'strict-dynamic'", re.IGNORECASE)
"""What lets single scripts run, beside which ``'unsafe-inline'`` says nothing (6.7.3.2)."""
_INLINE = "'unsafe-inline'"


def policy_of_page(policies: str, nonce: str) -> str:
    """The policies of a document's header or ``<meta>``, as those of a replay; empty where they let all scripts run.

    ``nonce``: of the scripts and styles that the replay itself puts into the document.
    """
    written = ("; ".join(_directives(text, nonce)) for text in policies.split(","))
    return ", ".join(each for each in written if each)


def _directives(text: str, nonce: str) -> Iterator[str]:
    """What one policy says of scripts, workers and styles."""
    said: dict[str, list[str]] = {}
    for part in text.split(";"):
        name, *values = part.split() or [""]
        said.setdefault(name.lower(), values)
    if "sandbox" in said and "allow-scripts" not in map(str.lower, said["sandbox"]):
        yield f"script-src {NOTHING}"
        return
    scripts = said.get("script-src", said.get("default-src"))
    workers = said.get("worker-src", said.get("child-src", scripts))
    if scripts is not None:
        yield f"script-src {_with_own(_sources(scripts), nonce)}"
    if "script-src-elem" in said:
        yield f"script-src-elem {_with_own(_sources(said['script-src-elem']), nonce)}"
    if "script-src-attr" in said:
        yield f"script-src-attr {' '.join(_sources(said['script-src-attr'])) or NOTHING}"
    if workers is not None:
        yield f"worker-src {' '.join(_of_workers(_sources(workers))) or NOTHING}"
    for name, unsaid in (("style-src", said.get("default-src")), ("style-src-elem", None), ("style-src-attr", None)):
        styles = said.get(name, unsaid)
        if styles is not None and not any(style.lower().startswith("'sha") for style in styles):  # it was rewritten
            sources = _sources(styles)
            yield f"{name} {' '.join(sources) or NOTHING if name.endswith('attr') else _with_own(sources, nonce)}"


def _sources(values: list[str]) -> list[str]:
    """The sources of a directive; those that name hosts are one, the view."""
    kept = [value for value in values if _KEPT.fullmatch(value)]
    names_hosts = any(value.lower() == "'self'" or not value.startswith("'") for value in values if value not in kept)
    return kept + ["'self'"] * names_hosts


def _with_own(sources: list[str], nonce: str) -> str:
    """The same for what the replay puts in, too: by its nonce, or as what stands inline, which a nonce would end."""
    if _INLINE in map(str.lower, sources) and not any(map(_SINGLE.match, sources)):
        return " ".join(dict.fromkeys([*sources, "'self'"]))
    return " ".join([*sources, f"'nonce-{nonce}'"])


def _of_workers(sources: list[str]) -> list[str]:
    """The same for workers; one that was made of text is begun from a blob, with the shim before it."""
    places = [source for source in map(str.lower, sources) if source in {"'self'", "data:", "blob:"}]
    return [*places, "blob:"] if "data:" in places else places
