"""Owns settings as they are typed: KEY=VALUE checked against what exists, and plugins by name."""

from collections.abc import Iterable

from archivebox.cli.errors import BadInputError
from archivebox.config.early import early_layers
from archivebox.config.resolve import Layer, Resolved
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract.schema import SettingSpec, check_value
from archivebox.hooks import base_layers, known_settings, plugins, resolve_settings
from archivebox.lib.jsonl import JSON
from archivebox.lib.suggestions import did_you_mean


def spec_of(name: str) -> SettingSpec:
    """The setting of this name, in whatever case; BadInputError with the nearest names if there is none."""
    specs = known_settings()
    found = specs.get(name) or specs.get(name.upper())
    if found is None:
        hint = did_you_mean(name.upper(), specs, "`archivebox config list --all` shows all.", most=3)
        raise BadInputError(f"There is no setting {name}. {hint}")
    return found


def parse_pair(pair: str) -> tuple[SettingSpec, JSON]:
    """``KEY=VALUE`` as setting and value; BadInputError says what is allowed."""
    name, equals, text = pair.partition("=")
    if not equals:
        raise BadInputError(f"{pair!r} is not a setting: write KEY=VALUE.")
    spec = spec_of(name.strip())
    try:
        return spec, check_value(spec, text)
    except ValueError as error:
        raise BadInputError(f"{error}.") from None


def pairs_of_crawls(pairs: Iterable[str]) -> dict[str, JSON]:
    """``KEY=VALUE`` that are to hold for some crawls alone; BadInputError for what has no effect on them."""
    parsed = [parse_pair(pair) for pair in pairs]
    for spec, _ in parsed:
        if spec.refusal_for_crawl:
            raise BadInputError(spec.refusal_for_crawl)
    return {spec.name: value for spec, value in parsed}


def refuse_secrets(pairs: Iterable[str], instead: str) -> None:
    """A secret on a command line is seen by everybody on the machine, and would stay in the command's row."""
    for pair in pairs:
        name, equals, value = pair.partition("=")
        spec = known_settings().get(name.strip().upper())
        if spec is not None and spec.sensitive and equals and value:
            raise BadInputError(f"{spec.name} is a secret, which a command line would show to others. {instead}")


def plugin_names(text: str | None) -> list[str]:
    """``"a,b"`` → names of plugins; BadInputError for one that is not there."""
    names = [name.strip() for name in (text or "").split(",") if name.strip()]
    for name in names:
        if name not in plugins():
            hint = did_you_mean(name, plugins(), "`archivebox plugin list` shows all plugins.")
            raise BadInputError(f"There is no plugin {name}. {hint}")
    return names


def current(*, is_collection: bool) -> Resolved:
    """What holds on this machine; without a collection, what the environment says."""
    return resolve_settings(current_layers(is_collection=is_collection))


def current_layers(*, is_collection: bool) -> list[Layer]:
    """The layers of :func:`current`, weakest first, for those who have more to say."""
    return base_layers() if is_collection else early_layers(DATA_FOLDER)
