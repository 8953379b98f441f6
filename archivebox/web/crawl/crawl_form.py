"""Owns the form of what a crawl is made of: what is given, how far it goes, and by what it is archived."""

import io
from collections.abc import Iterator
from typing import Any, cast

from django import forms
from django.contrib.auth.models import AnonymousUser, User
from django.core.validators import MaxLengthValidator

from archivebox.core.intake.persona_access import personas_of
from archivebox.core.intake.request import CrawlRequest, UrlList
from archivebox.core.tag import split_tags
from archivebox.hooks import discover_hooks, plugins
from archivebox.web import settings
from archivebox.web.crawl.output_kinds import KindsField, KindShown, offered, plugins_keeping
from archivebox.web.crawl.visibility_form import SEEN_BY

DEPTHS = [(0, "only these pages"), (1, "and what they link to"), (2, "two links deep"), (3, "three links deep")]
SCOPES = [("all", "anywhere"), ("domain", "within their domain"), ("host", "within their host")]


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
    scope = forms.ChoiceField(label="Links are followed", choices=SCOPES, initial="all", required=False)
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
