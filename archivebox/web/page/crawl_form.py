"""Owns the form of what a crawl is made of: what is given, how far it goes, and by what it is archived."""

import io
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.contrib.auth.models import AnonymousUser, User
from django.core.validators import MaxLengthValidator

from archivebox.contract.discovery import Plugin
from archivebox.contract.presentation import OutputKind
from archivebox.core.intake.persona_access import personas_of
from archivebox.core.intake.request import CrawlRequest, UrlList
from archivebox.core.tag import split_tags
from archivebox.hooks import base_layers, discover_hooks, plugins, resolve_settings
from archivebox.web import settings
from archivebox.web.page.visibility_form import SEEN_BY


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
        super().__init__(label="Save as", required=False, widget=forms.CheckboxSelectMultiple)

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


DEPTHS = [(0, "only these pages"), (1, "+ pages they link to"), (2, "+ links of those"), (3, "+ three links deep")]
SCOPES = [("domain", "the same site and its subdomains"), ("host", "the same host"), ("all", "any site")]


class CrawlForm(forms.Form):
    """What every crawl is made of."""

    urls = forms.CharField(
        label="URLs, or text that contains URLs",
        required=False,
        widget=forms.Textarea(
            attrs={
                "rows": 3,
                "placeholder": "Paste a URL, or text that contains URLs",
                "autofocus": True,
                "spellcheck": "false",
            }
        ),
    )
    depth = forms.TypedChoiceField(label="How far", choices=DEPTHS, coerce=int, initial=0)
    scope = forms.ChoiceField(label="Follow links to", choices=SCOPES, initial="domain", required=False)
    keep = KindsField()
    plugins = forms.MultipleChoiceField(label="Only these plugins", required=False, widget=forms.CheckboxSelectMultiple)
    persona = forms.ChoiceField(label="Persona", required=False)
    tags = forms.CharField(
        label="Tags", required=False, validators=[MaxLengthValidator(1000)], help_text="Separated by commas."
    )  # no max_length: a browser would cut what is pasted, in the middle of a tag

    visibility = forms.ChoiceField(label="Visible to", choices=SEEN_BY, required=False)

    def __init__(self, *arguments: Any, user: User | AnonymousUser, **options: Any) -> None:
        """``user``: whose personas can be chosen."""
        super().__init__(*arguments, **options)
        self.fields["visibility"].initial = settings.VISIBILITY
        capturing = cast("forms.MultipleChoiceField", self.fields["plugins"])
        capturing.choices = capturing_titles()
        kept = cast("forms.MultipleChoiceField", self.fields["keep"])
        kept.choices = [(shown.kind, shown.label) for shown in offered()]
        kept.initial = [kind for kind, _ in kept.choices]
        personas = cast("forms.ChoiceField", self.fields["persona"])
        names = personas_of(user) if isinstance(user, User) else []
        personas.choices = [("", "Default from settings"), *((name, name) for name in names)]

    @property
    def kinds(self) -> list[tuple[KindShown, forms.boundfield.BoundWidget]]:
        """The kinds of output that are offered, each with its box."""
        return list(zip(offered(), self["keep"], strict=True))

    def given(self) -> Iterator[UrlList]:
        """The lists that were given, to be read."""
        yield from typed(self.cleaned_data.get("urls", ""))

    def request(self, **more: Any) -> CrawlRequest:
        """What was asked for, as far as somebody chose it; ``more``: fields that this form does not have."""
        asked = self.cleaned_data
        scope = asked["scope"] if asked["depth"] and asked["scope"] != "all" else ""
        chosen = {name: asked[name] for name in ("depth", "persona", "visibility")}
        return CrawlRequest(
            lists=list(self.given()),
            scope=scope,
            plugins=asked["plugins"] or plugins_keeping(asked["keep"] or ()),
            tags=split_tags(asked["tags"]),
            **chosen,
            **more,
        )


def capturing_plugins() -> list[str]:
    """Those that have something to do with a page."""
    return sorted({hook.plugin for hook in discover_hooks("Snapshot")})


def capturing_titles() -> list[tuple[str, str]]:
    """Their names, with what people call them."""
    titles = [(name, plugins()[name].title or name) for name in capturing_plugins()]
    return sorted(titles, key=lambda one: one[1].casefold())


def typed(text: str, name: str = "The text") -> Iterator[UrlList]:
    """What somebody typed, if anything, to be read."""
    if text:
        yield UrlList(io.BytesIO(text.encode()), name)
