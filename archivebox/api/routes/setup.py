"""How the collection is set up: plugins, settings and personas."""

from typing import Annotated, Any

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer, record_audit
from archivebox.api.problems import ProblemError
from archivebox.api.shapes.archive import RequestBody, Text
from archivebox.base_models.transactions import write_transaction
from archivebox.config.personas import Persona, personas_in
from archivebox.config.resolve import Resolved
from archivebox.config.settings import DATA_FOLDER
from archivebox.contract import reasons
from archivebox.contract.discovery import Plugin
from archivebox.contract.schema import SettingSpec, check_value, to_env
from archivebox.hooks import base_layers, known_settings, plugins, resolve_settings
from archivebox.hooks.stored_settings import write_settings
from archivebox.lib.suggestions import did_you_mean

router = Router(tags=["setup"])


class PluginOut(Schema):
    """One plugin."""

    name: str
    title: str
    description: str
    source: str
    enabled: bool
    reason: Annotated[str, Field(description="Why it is off")]
    programs: list[str]
    settings: Annotated[list[str], Field(description="Names of its settings")]
    output_mimetypes: list[str]
    warnings: list[str]

    @classmethod
    def of(cls, plugin: Plugin, resolved: Resolved) -> "PluginOut":
        code = resolved.disabled_reason(plugin)
        return cls(
            name=plugin.name,
            title=plugin.title,
            description=plugin.description,
            source=plugin.source,
            enabled=code is None,
            reason=reasons.sentence(code) if code else "",
            programs=[asked.name for asked in plugin.binaries],
            settings=sorted(plugin.schema.settings),
            output_mimetypes=list(plugin.output_mimetypes),
            warnings=list(plugin.warnings),
        )


class SettingOut(Schema):
    """One setting; of a secret only whether it is set."""

    name: str
    value: Any
    source: Annotated[str, Field(description="Which place says so: default, fleet, file, machine, environment")]
    description: str
    type: str
    default: Any
    is_secret: bool
    is_local: Annotated[bool, Field(description="Set from a terminal alone, since it leads to a program or a server")]

    @classmethod
    def of(cls, spec: SettingSpec, resolved: Resolved) -> "SettingOut":
        said = resolved.explain(spec.name)
        is_hidden = spec.sensitive or spec.is_local
        return cls(
            name=spec.name,
            value=bool(said) if is_hidden else resolved.get(spec.name),
            source=said[-1][0] if said else "default",
            description=spec.description,
            type=spec.type,
            default=None if is_hidden else spec.default,
            is_secret=spec.sensitive,
            is_local=spec.is_local,
        )


class PersonaOut(Schema):
    """Who crawls are to the sites they visit."""

    name: str
    settings: Annotated[list[str], Field(description="Names alone, since some are secrets")]
    cookies: bool
    users: Annotated[
        list[str], Field(description="Accounts that it is shared with; administrators can use all personas")
    ]
    profile: Annotated[bool, Field(description="Whether a browser was started with its profile")]

    @classmethod
    def of(cls, persona: Persona) -> "PersonaOut":
        return cls(
            name=persona.name,
            settings=persona.setting_names,
            cookies=persona.cookies.is_file(),
            users=persona.users,
            profile=persona.has_profile,
        )


class Plugins(Schema):
    items: list[PluginOut]


class SettingList(Schema):
    items: list[SettingOut]


class Personas(Schema):
    items: list[PersonaOut]


class WantedSettings(Schema):
    """Which settings."""

    name: Annotated[Text | None, Field(description="A part of the name")] = None


class SettingsPatch(RequestBody):
    """What is to be set, in ArchiveBox.conf or for all machines; null takes a setting out."""

    changes: Annotated[dict[str, Any], Field(min_length=1, max_length=100)]


@router.get("/plugins", response=Plugins, auth=Bearer(Action.INSPECT))
def list_plugins(request: HttpRequest) -> Plugins:
    """Plugins, and whether each is on."""
    del request
    resolved = resolve_settings(base_layers())
    return Plugins(items=[PluginOut.of(one, resolved) for _, one in sorted(plugins().items())])


@router.get("/plugins/{name}", response=PluginOut, auth=Bearer(Action.INSPECT))
def get_plugin(request: HttpRequest, name: str) -> PluginOut:
    """One plugin."""
    del request
    plugin = plugins().get(name)
    if plugin is None:
        raise Http404
    return PluginOut.of(plugin, resolve_settings(base_layers()))


@router.get("/settings", response=SettingList, auth=Bearer(Action.INSPECT))
def list_settings(request: HttpRequest, wanted: Query[WantedSettings]) -> SettingList:
    """Settings, what holds, and which place says so."""
    del request
    resolved, part = resolve_settings(base_layers()), (wanted.name or "").upper()
    specs = {spec.name: spec for spec in known_settings().values() if part in spec.name}
    return SettingList(items=[SettingOut.of(specs[name], resolved) for name in sorted(specs)])


@router.get("/settings/{name}", response=SettingOut, auth=Bearer(Action.INSPECT))
def get_setting(request: HttpRequest, name: str) -> SettingOut:
    """One setting."""
    del request
    spec = known_settings().get(name.upper())
    if spec is None:
        raise Http404
    return SettingOut.of(spec, resolve_settings(base_layers()))


@router.patch("/settings", response=SettingList, auth=Bearer(Action.ADMINISTER))
def change_settings(request: HttpRequest, wanted: SettingsPatch) -> SettingList:
    """Change ArchiveBox.conf, or what all machines share: all or nothing. A program is set from a terminal alone."""
    specs = {name: _spec(name) for name in wanted.changes}
    values: dict[str, str | None] = {}
    for name, value in wanted.changes.items():
        spec = specs[name]
        values |= dict.fromkeys(spec.aliases) | {spec.name: None if value is None else _checked(spec, value)}
    try:
        with write_transaction():
            record_audit(request, "settings.changed", names=[*sorted(spec.name for spec in specs.values())])
            write_settings(values)
    except ValueError as error:
        raise ProblemError(422, f"{error}.") from None
    resolved = resolve_settings(base_layers())
    return SettingList(items=[SettingOut.of(spec, resolved) for spec in specs.values()])


def _spec(name: str) -> SettingSpec:
    known = known_settings()
    spec = known.get(name.upper())
    if spec is None:
        raise ProblemError(422, f"There is no setting {name}. {did_you_mean(name.upper(), known, '')}".strip())
    if spec.is_local:
        raise ProblemError(422, f"{spec.name} is set from a terminal alone: `archivebox config set {spec.name}=…`.")
    return spec


def _checked(spec: SettingSpec, value: Any) -> str:
    try:
        return to_env(check_value(spec, value))
    except ValueError as error:
        raise ProblemError(422, f"{error}.") from None


@router.get("/personas", response=Personas, auth=Bearer(Action.INSPECT))
def list_personas(request: HttpRequest) -> Personas:
    """Personas of this collection."""
    del request
    return Personas(items=[PersonaOut.of(one) for one in personas_in(DATA_FOLDER.personas)])


@router.get("/personas/{name}", response=PersonaOut, auth=Bearer(Action.INSPECT))
def get_persona(request: HttpRequest, name: str) -> PersonaOut:
    """One persona."""
    del request
    for one in personas_in(DATA_FOLDER.personas):
        if one.name == name:
            return PersonaOut.of(one)
    raise Http404
