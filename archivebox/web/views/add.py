"""Owns the form that takes URLs."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from archivebox.accounts.roles import Action
from archivebox.base_models.users import system_user
from archivebox.core.intake import Refusal, check_seeds, create_crawl
from archivebox.core.tag import split_tags
from archivebox.hooks import base_layers, resolve_settings
from archivebox.web.access import allows, public_if

DEPTHS = [(0, "only these pages"), (1, "and what they link to"), (2, "two links deep"), (3, "three links deep")]
REFUSALS_SHOWN = 50


class AddForm(forms.Form):
    urls = forms.CharField(
        label="URLs",
        widget=forms.Textarea(attrs={"rows": 6, "placeholder": "https://example.org/", "autofocus": True}),
        help_text="One a line.",
        error_messages={"required": "Paste at least one URL."},
    )
    depth = forms.TypedChoiceField(label="How far", choices=DEPTHS, coerce=int, initial=0)
    tags = forms.CharField(label="Tags", required=False, max_length=1000, help_text="Separated by commas.")


@public_if("PUBLIC_ADD_VIEW")
def form(request: HttpRequest) -> HttpResponse:
    """Take the valid lines; say what is wrong with each other line."""
    asked = AddForm(request.POST or None)
    refusals: list[Refusal] = []
    if request.method == "POST" and asked.is_valid():
        lines = asked.cleaned_data["urls"].splitlines()
        # Numbers stay those of the box: an empty line is nothing to complain of, but it counts.
        numbered = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
        seeds, refused = check_seeds(
            [line for _, line in numbered],
            resolve_settings(base_layers()),
            may_name_private=allows(request, Action.ADMINISTER),
        )
        refusals = [Refusal(numbered[it.line - 1][0], it.text, it.code, it.sentence) for it in refused]
        if seeds:
            user = request.user if request.user.is_authenticated else system_user()
            tags = split_tags(asked.cleaned_data["tags"])
            crawl = create_crawl(seeds, created_by=user, max_depth=asked.cleaned_data["depth"], tags=tags)
            _tell(request, len(seeds), refusals)
            return redirect(
                "crawl" if request.user.is_authenticated else "add",
                *([crawl.pk] if request.user.is_authenticated else []),
            )
    status = 422 if refusals or asked.errors else 200
    context = {"form": asked, "refusals": refusals[:REFUSALS_SHOWN], "refused": len(refusals)}
    return render(request, "web/add.html", context, status=status)


def _tell(request: HttpRequest, taken: int, refusals: list[Refusal]) -> None:
    messages.success(request, f"{taken} page{'' if taken == 1 else 's'} accepted.")
    for refusal in refusals[:REFUSALS_SHOWN]:
        messages.warning(request, f"Line {refusal.line} was left out: {refusal.sentence} ({refusal.text[:80]})")
