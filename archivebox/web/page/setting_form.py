"""Owns the form of settings: made of their schema, filled with what is stored, and stored again."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.contrib.auth.models import AnonymousUser, User
from django.forms.utils import flatatt
from django.http import QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString

from archivebox.accounts import audit
from archivebox.base_models.transactions import write_transaction
from archivebox.config.resolve import Resolved, SettingError
from archivebox.contract.schema import SettingSpec, check_value, to_env
from archivebox.hooks.stored_settings import write_settings
from archivebox.lib.jsonl import JSON
from archivebox.lib.urls import redacted

_ENDINGS = {
    "ENABLED": "On",
    "TIMEOUT": "Time limit in seconds",
    "BINARY": "Program",
    "ARGS": "Options of the program",
    "ARGS_EXTRA": "Further options of the program",
}
"""What every plugin has (``standard_properties``), after its own name."""
_AS_WRITTEN = {
    "API": "API", "CPU": "CPU", "CSS": "CSS", "DNS": "DNS", "HTTP": "HTTP", "HTTPS": "HTTPS", "ID": "ID", "JS": "JS",
    "JPEG": "JPEG", "OIDC": "OpenID Connect", "PDF": "PDF", "SSL": "SSL", "TLS": "TLS", "URL": "URL", "URLS": "URLs",
    "WARC": "WARC", "ADDR": "address", "DIR": "folder", "MAX": "maximum", "MIN": "minimum",
}  # fmt: skip


def label_of(spec: SettingSpec, prefix: str = "") -> str:
    """``SCREENSHOT_FULL_PAGE`` of the plugin whose settings begin with ``SCREENSHOT`` → ``Full page``."""
    name = spec.name.removeprefix(f"{prefix}_") if prefix else spec.name
    if spec.title or name in _ENDINGS:
        return spec.title or _ENDINGS[name]
    words = " ".join(_AS_WRITTEN.get(word, word.lower()) for word in name.split("_"))
    return words[:1].upper() + words[1:]


HIDDEN = "hidden"
_STORED = ("fleet", "file")
PLACES = {
    "fleet": "all machines",
    "file": "ArchiveBox.conf",
    "machine": "this machine",
    "environment": "the environment",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as the form shows it. ``kept``: what is stored of it, None where nothing."""

    spec: SettingSpec
    holds: str
    source: str
    default: str
    kept: str | None
    problem: str = ""
    label: str = ""

    @property
    def allowed(self) -> str:
        """What may be set, in words: a pattern is for whoever gets it wrong."""
        return "" if self.is_switch or self.spec.enum else replace(self.spec, pattern=None).allowed()

    @property
    def is_switch(self) -> bool:
        """Whether it is on or off, and nothing else."""
        is_boolean = self.spec.type == "boolean" and not self.spec.enum
        return is_boolean and self.default in {"true", "false"} and not self.spec.fallback

    @property
    def is_overruled(self) -> bool:
        """Whether another place goes before what is stored."""
        return self.source in {PLACES["machine"], PLACES["environment"]}


class Switch(forms.Widget):
    """On or off. A form that does not have it says nothing of it; without a script, too."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        del renderer
        box = {"type": "checkbox", "role": "switch", "name": name, "value": "true", "checked": value == "true"}
        both = self.build_attrs(self.attrs, (attrs or {}) | box)
        return format_html('<input type="hidden" name="{}" value="false"><input{}>', name, flatatt(both))

    def value_from_datadict(self, data: Any, files: Any, name: str) -> str | None:
        del files
        values = data.getlist(name)
        return str(values[-1]) if values else None


class SettingField(forms.CharField):
    """A value as it is typed; None for none, and for a switch that nobody moved from its default."""

    def __init__(self, setting: Setting) -> None:
        spec = setting.spec
        super().__init__(label=setting.label, required=False, widget=_widget(setting), initial=_initial(setting))
        self._spec, self._setting = spec, setting

    def clean(self, value: Any) -> str | None:
        text = str(value or "").replace("\r\n", "\n").strip()
        if not text:
            return None
        try:
            checked = to_env(check_value(self._spec, text))
        except ValueError as error:
            raise forms.ValidationError(f"{error}.") from None
        is_default = self._setting.is_switch and checked == self._setting.default
        return None if is_default and checked != self._setting.kept else checked


class SettingForm(forms.Form):
    """Some settings; what only a terminal sets has no field."""

    def __init__(
        self, specs: Iterable[SettingSpec], resolved: Resolved, data: QueryDict | None = None, prefix: str = ""
    ) -> None:
        super().__init__(data)
        made = (replace(_setting(spec, resolved), label=label_of(spec, prefix)) for spec in specs)
        self.settings = sorted(made, key=lambda one: one.spec.is_local)
        for one in self.settings:
            if not one.spec.is_local:
                self.fields[one.spec.name] = SettingField(one)
                if one.spec.sensitive and one.kept is not None:
                    self.fields[_unset(one)] = forms.BooleanField(label="Take it out", required=False)

    def lines(self) -> list[tuple[Setting, forms.BoundField | None, forms.BoundField | None]]:
        """Each setting with its field, and the box that takes a secret away."""
        return [(one, self._bound(one.spec.name), self._bound(_unset(one))) for one in self.settings]

    def _bound(self, name: str) -> forms.BoundField | None:
        return self[name] if name in self.fields else None

    def changes(self) -> dict[str, str | None]:
        """What differs from what is stored; an alias makes room for the name."""
        changes: dict[str, str | None] = {}
        for one in self.settings:
            value = self.cleaned_data.get(one.spec.name)
            is_left = one.spec.sensitive and value is None and not self.cleaned_data.get(_unset(one))
            if one.spec.name in self.fields and value != one.kept and not is_left:
                changes |= dict.fromkeys(one.spec.aliases) | {one.spec.name: value}
        return changes


def store(form: SettingForm, user: User | AnonymousUser) -> list[str] | None:
    """Store a valid form: the names that changed, or None where one of them cannot be stored."""
    changes = form.changes()
    names = [one.spec.name for one in form.settings if one.spec.name in changes]
    try:
        with write_transaction():
            if names:
                audit.record(user, "settings.changed", names=[*names])
            if changes:
                write_settings(changes)
    except ValueError as error:
        name = str(error).partition(" ")[0]
        form.add_error(name if name in form.fields else None, f"{error}.")
        return None
    return names


def place(source: str) -> str:
    """What people call the place that :meth:`Resolved.explain` names."""
    name, comma, rest = source.partition(",")
    if name.startswith("default of the plugin"):
        return "default"
    return PLACES.get(name, name) + comma + rest


def _setting(spec: SettingSpec, resolved: Resolved) -> Setting:
    said = resolved.explain(spec.name)
    kept = [value for source, value in said if source in _STORED or source.startswith(("fleet, as", "file, as"))]
    value, problem = _value(spec, resolved)
    return Setting(
        spec,
        holds=HIDDEN if spec.sensitive and value else value,
        source=place(said[-1][0]) if said else "default",
        default=to_env(spec.default),
        kept=_normal(spec, kept[-1]) if kept else None,
        problem=problem,
    )


def _value(spec: SettingSpec, resolved: Resolved) -> tuple[str, str]:
    try:
        value = resolved.get(spec.name)
        return to_env([*redacted(map(str, value))] if isinstance(value, list) and spec.is_local else value), ""
    except SettingError as error:
        return "", f"{error}."


def _normal(spec: SettingSpec, raw: JSON) -> str:
    """As the form would write it; what is not allowed stays as it is."""
    try:
        return to_env(check_value(spec, raw))
    except ValueError:
        return to_env(raw)


def _initial(setting: Setting) -> str | None:
    if setting.is_switch:
        return setting.default if setting.kept is None else setting.kept
    return None if setting.spec.sensitive else setting.kept


def _unset(setting: Setting) -> str:
    return f"{setting.spec.name}__unset"


_SWITCHED = {"true": "on", "false": "off"}


def _widget(setting: Setting) -> forms.Widget:
    spec, help_id = setting.spec, {"aria-describedby": f"id_{setting.spec.name}_help"}
    if setting.is_switch:
        return Switch(attrs=help_id)
    if spec.type == "boolean" or spec.enum:
        choices = [to_env(one) for one in spec.enum or (True, False)]
        words = {one: _SWITCHED.get(one, one) if spec.type == "boolean" else one for one in choices}
        return forms.Select(attrs=help_id, choices=[("", f"Default ({setting.default or 'none'})"), *words.items()])
    if spec.sensitive:
        return forms.PasswordInput(
            attrs={"autocomplete": "off", "placeholder": "set" if setting.kept else "not set"} | help_id
        )
    if spec.type in {"integer", "number"}:
        limits = {"min": spec.minimum, "max": spec.maximum, "step": 1 if spec.type == "integer" else "any"}
        given = {name: value for name, value in limits.items() if value is not None}
        return forms.NumberInput(attrs={"placeholder": setting.holds} | given | help_id)
    if spec.pattern:
        return forms.TextInput(attrs={"placeholder": setting.holds} | help_id)
    return forms.Textarea(attrs={"rows": 1, "spellcheck": "false", "placeholder": setting.holds} | help_id)
