"""Owns the pages whose quality is measured, with what a reader does with each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.site import modern


@dataclass(frozen=True)
class Sample:
    """One page of the local web."""

    path: str
    lives: bool = False
    """Whether scripts make what is seen, so that its replay is judged with them."""
    acts: tuple[str, ...] = ()
    """What a reader does with it, as `acts.py` names that."""
    cut: tuple[str, ...] = ()
    """Formats of which a part is left out, which they say (docs/plugins.md)."""
    is_page: bool = True
    """Whether what is captured at the end is the page that was asked for."""


def _shop(name: str) -> tuple[Sample, Sample]:
    return (
        Sample(f"/apps/{name}/", lives=True, acts=("details", "route")),
        Sample(f"/apps/{name}/items/2", lives=True, acts=("reload",)),
    )


SAMPLES = (
    *_shop("react"),
    *_shop("vue"),
    *_shop("svelte"),
    *_shop("solid"),
    Sample("/apps/hydrated/", lives=True, acts=("details", "route")),
    Sample("/apps/import-map", lives=True),
    Sample("/apps/lit", lives=True),
    Sample("/apps/reveal", lives=True),
    Sample("/apps/canvas", lives=True),
    Sample("/apps/webgl", lives=True),
    Sample("/apps/blob", lives=True),
    Sample("/apps/worker/", lives=True),
    Sample("/apps/socket", lives=True),
    Sample("/apps/events", lives=True),
    Sample("/apps/polling", lives=True),
    Sample("/apps/graphql", lives=True, acts=("query",)),
    Sample("/apps/hls", lives=True),
    Sample("/apps/trusted-types", lives=True),
    Sample("/script-built", lives=True),
    Sample("/shadow", lives=True),
    Sample("/charset/windows-1251"),
    Sample("/charset/shift_jis"),
    Sample("/charset/gb18030"),
    Sample("/responsive"),
    Sample("/image-set"),
    Sample("/thrice"),
    Sample("/iframe"),
    Sample("/video"),
    Sample("/article"),
    Sample("/unicode"),
    Sample("/manual"),
    Sample("/csp"),
    Sample("/large.html?mb=3"),
    Sample("/large.html?mb=20", cut=("pdf",)),
    Sample("/challenge?status=403"),
    Sample("/limited?seconds=3&key=quality"),
    Sample("/unavailable"),
    Sample("/unavailable?retry=2", is_page=False),
    Sample("/login"),
    Sample("/members/article", is_page=False),
    *(Sample(part.path, lives=part.lives) for part in modern.PARTS if part.is_page),
)


def chosen(parts: Sequence[str]) -> tuple[Sample, ...]:
    """The samples whose path has one of these in it; all of them for none."""
    return tuple(one for one in SAMPLES if not parts or any(part in one.path for part in parts))
