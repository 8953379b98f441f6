"""Owns one hook: what its name, its script and its entry in ``x-hooks`` say of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from archivebox.contract.applies import ANY_PAGE, Applies, read_applies
from archivebox.contract.hooknames import HookName
from archivebox.contract.schema import string_list
from archivebox.contract.scripts import Interpreter, Script
from archivebox.lib.jsonl import JSON

TAB = "tab"
"""The resource that step 5 hooks hold unless they say otherwise: the live page."""

READY_TIME = 10.0
"""Seconds that others wait for a background hook to be ready."""

NEWER_SESSION = frozenset({("chrome_tab", True), ("chrome_navigate", False)})
"""What the two hooks of the newer dialect do without which no other of it has a live page, and whether as a daemon.

Its x-hooks say nothing. That of the older dialect which opens a tab ends at once, and leaves it open.
"""

DIRECT = "direct"
"""What ``network`` says of a hook that cannot use a proxy."""

HOOK_FLAGS = ("ready", "finite", "session", "page", "derived", "fork", "gate", "warm")
HOOK_LISTS = ("exclusive", "after", "argv", "sources", "tells", "preload")


@dataclass(frozen=True, slots=True)
class Hook:
    """One script of a plugin, with what its name and ``x-hooks`` say of it.

    ``ready``: prints a line as soon as others may rely on it, or may have the page. ``finite``: ends by itself.
    ``session``: its effect is the live page. ``page``: needs the live page. ``derived``: made from other results, and
    made again when those change; from those of the plugins that ``sources`` names, else from all (htmltotext, made from
    one file of `dom` or `wget`, ran again for every title). ``exclusive``:
    resources it holds alone. ``after``: hooks or plugins it waits for. ``fork``: may run in a child of a fork server.
    ``argv``: options it accepts, without dashes; None: every one. ``applies``: the pages it is for. ``described``:
    ``x-hooks`` speaks of it. ``environment``: the program that runs it where that is the Python of an environment of
    its own. ``direct``: it connects past the proxy of its crawl. ``gate``: where it fails, nothing that comes after it
    starts. ``tells``: the settings that say which others it tells of the page. ``preload``: the modules that the
    Python of its ``environment`` imports once for many pages. ``warm``: may be started before its crawl is there.
    ``newer_dialect``: it prints ``failed`` for any exception. ``digest``: SHA-256 of the script.
    """

    plugin: str
    path: Path
    name: HookName
    ready: bool = False
    finite: bool = False
    session: bool = False
    page: bool = False
    derived: bool = False
    sources: tuple[str, ...] = ()
    exclusive: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    fork: bool = False
    direct: bool = False
    gate: bool = False
    tells: tuple[str, ...] = ()
    argv: tuple[str, ...] | None = None
    applies: Applies = ANY_PAGE
    interpreter: Interpreter = "python"
    described: bool = False
    environment: str = ""
    preload: tuple[str, ...] = ()
    warm: bool = False
    newer_dialect: bool = False
    digest: str = ""

    def __hash__(self) -> int:
        return hash(self.path)  # of all fields: ten times as slow, for every hook of every page

    @property
    def file_name(self) -> str:
        return self.name.file_name

    @property
    def step(self) -> int:
        return self.name.step

    @property
    def background(self) -> bool:
        return self.name.background

    @property
    def listens(self) -> bool:
        """Whether it works until it is told to stop, by its name or its declaration."""
        return self.name.daemon or self.ready

    @property
    def opens_page(self) -> bool:
        """Whether others may use the live page as soon as it is ready: it holds the tab, and needs nobody else's."""
        return self.session and self.ready and not self.page

    @property
    def is_navigation(self) -> bool:
        """Whether it takes the live page somewhere, and ends."""
        return self.session and not self.background

    @property
    def works_on(self) -> bool:
        """Whether others can rely neither on its end before it is told to stop, nor on its being ready."""
        return self.background and not self.finite and not self.ready

    @property
    def has_deadline(self) -> bool:
        """Whether its own timeout ends it; a background hook that is not finite works as long as its object does."""
        return self.finite or not (self.background and self.name.event in {"Crawl", "Snapshot"})

    @property
    def may_be_cut_off(self) -> bool:
        """Whether it is told to stop at the end although nothing says that it listens until then."""
        return self.background and not (self.finite or self.listens or self.session)

    @property
    def sort_key(self) -> tuple[str, str]:
        """Hooks start in file-name order, ``CrawlSetup`` among ``Crawl``; two of one name by plugin."""
        return self.name.file_name.partition("__")[2], self.plugin

    def arguments(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """``values`` by option name as ``--name=value``, only those that the script accepts.

        ``binproviders`` reaches a hook that knows only the older ``--bin-providers`` under that name.
        """
        if self.argv is None:
            return tuple(f"--{option}={value}" for option, value in values.items())
        older = "binproviders" not in self.argv and "bin-providers" in self.argv
        named = {"bin-providers" if older and key == "binproviders" else key: item for key, item in values.items()}
        return tuple(f"--{option}={value}" for option, value in named.items() if option in self.argv)


def read_hook(plugin: str, path: Path, name: HookName, script: Script, declared: JSON) -> tuple[Hook, list[str]]:
    """A hook, and a sentence for everything in its entry of ``x-hooks`` that is not understood and so ignored."""
    warnings: list[str] = []
    flags, lists = _metadata(name, declared, warnings)
    argv = lists.get("argv")
    derived = flags.get("derived", False)
    exclusive = lists.get("exclusive", () if derived else _default_exclusive(name))
    page = flags.get("page", False) or TAB in exclusive
    holds_session = declared is None and script.newer_dialect and _is_newer_session(name)
    if derived and page:
        # It would wait for what listens to the page until the page closes, and keep it open meanwhile.
        warnings.append(f"{name} is derived, so it has no page: what it is made from may end with the page")
        page, exclusive = False, tuple(one for one in exclusive if one != TAB)
    hook = Hook(
        plugin=plugin,
        path=path,
        name=name,
        ready=name.daemon or flags.get("ready", False),
        finite=name.finite or flags.get("finite", False),
        session=flags.get("session", holds_session),
        page=page,
        derived=derived,
        sources=lists.get("sources", ()),
        exclusive=exclusive,
        after=lists.get("after", ()),
        fork=flags.get("fork", True) and script.interpreter == "python",
        direct=isinstance(declared, dict) and declared.get("network") == DIRECT,
        gate=flags.get("gate", False) and name.event == "Snapshot" and not name.background,
        tells=lists.get("tells", ()),
        preload=lists.get("preload", ()),
        warm=flags.get("warm", False) and _may_be_warm(name, script, exclusive),
        argv=script.options if argv is None else tuple(item.lstrip("-") for item in argv),
        applies=_applies(name, declared, warnings),
        interpreter=script.interpreter,
        described=declared is not None,
        newer_dialect=script.newer_dialect,
        digest=script.digest,
    )
    return hook, warnings


def _may_be_warm(name: HookName, script: Script, exclusive: tuple[str, ...]) -> bool:
    """Whether it works for a whole crawl, and needs nothing to begin that only one hook may have."""
    return name.event == "Crawl" and name.background and script.interpreter == "python" and not exclusive


def _applies(name: HookName, declared: JSON, warnings: list[str]) -> Applies:
    if not isinstance(declared, dict) or "applies" not in declared:
        return ANY_PAGE
    applies, problems = read_applies(declared["applies"])
    warnings.extend(f'"applies" in "x-hooks" of {name}: {problem}' for problem in problems)
    return applies


def _is_newer_session(name: HookName) -> bool:
    return name.event == "Snapshot" and (name.what, name.daemon) in NEWER_SESSION


def _default_exclusive(name: HookName) -> tuple[str, ...]:
    return (TAB,) if name.event == "Snapshot" and name.step == 5 and not name.background else ()


def _metadata(
    name: HookName, declared: JSON, warnings: list[str]
) -> tuple[dict[str, bool], dict[str, tuple[str, ...]]]:
    """The flags and the lists of one ``x-hooks`` entry; what is not of the right type is left out with a warning."""
    flags: dict[str, bool] = {}
    lists: dict[str, tuple[str, ...]] = {}
    if declared is None:
        return flags, lists
    if not isinstance(declared, dict):
        warnings.append(f'"x-hooks" of {name} is not an object and is ignored')
        return flags, lists
    for key, value in declared.items():
        if key in HOOK_FLAGS and isinstance(value, bool):
            flags[key] = value
        elif key in HOOK_LISTS and isinstance(value, list) and all(isinstance(item, str) for item in value):
            lists[key] = string_list(value)
        elif key != "applies" and (key, value) != ("network", DIRECT):
            warnings.append(f'"{key}" in "x-hooks" of {name} is not understood and is ignored')
    return flags, lists
