"""Owns the kinds of output that people choose, and the plugins that each choice comes to."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from django import forms

from archivebox.contract.discovery import Plugin
from archivebox.contract.presentation import OutputKind
from archivebox.hooks import base_layers, plugins, resolve_settings


@dataclass(frozen=True, slots=True)
class KindShown:
    """One kind as pages show it."""

    kind: OutputKind
    icon: str
    label: str
    text: str


KINDS = (
    KindShown("picture", "image", "Picture", "A screenshot of the page"),
    KindShown("pdf", "file-text", "PDF", "The page as printed"),
    KindShown("single_file", "file", "Single file", "One HTML file that opens anywhere"),
    KindShown("replay", "archive", "Full replay", "Everything that the browser loaded, to browse later"),
    KindShown("text", "text", "Text", "The article and full text, to read and search"),
    KindShown("media", "video", "Media", "Video, sound and galleries"),
    KindShown("source_code", "code", "Source code", "The repository, if the page has one"),
)


class KindsField(forms.MultipleChoiceField):
    """Kinds of output to keep: empty where nobody was asked. Who was asked, and unticked all, is asked again."""

    def __init__(self) -> None:
        super().__init__(label="Keep", required=False, widget=forms.CheckboxSelectMultiple)

    def clean(self, value: Any) -> Any:
        kinds = super().clean([kind for kind in value or () if kind])
        if value and not kinds:
            raise forms.ValidationError("Choose at least one.")
        return kinds


def offered() -> list[KindShown]:
    """The kinds that some plugin that is on keeps."""
    on = {plugin.keeps for plugin in _enabled()}
    return [shown for shown in KINDS if shown.kind in on]


def plugins_keeping(kinds: Collection[str]) -> list[str]:
    """The plugins that are on and keep one of ``kinds``, or that keep none: they help others. All kinds: nobody's."""
    if not kinds or set(kinds) >= {shown.kind for shown in offered()}:
        return []
    return sorted(plugin.name for plugin in _enabled() if not plugin.keeps or plugin.keeps in kinds)


def kinds_of(names: Collection[str]) -> list[str]:
    """The kinds that come to just these plugins; none where plugins were selected individually."""
    every = plugins()
    kinds = {every[name].keeps for name in names if name in every} - {""}
    return sorted(kinds) if names and set(plugins_keeping(kinds)) == set(names) else []


def _enabled() -> Iterator[Plugin]:
    resolved = resolve_settings(base_layers())
    return (plugin for plugin in plugins().values() if not plugin.only_installs and resolved.is_enabled(plugin))
