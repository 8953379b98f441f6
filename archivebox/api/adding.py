"""Taking URLs from programs: all of them, or none and a sentence for each that cannot be taken."""

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.http import HttpRequest

from archivebox.accounts.passers_by import (
    PasserByError,
    TooManyUrlsError,
    check_choices,
    count_urls,
    is_passer_by,
)
from archivebox.accounts.permission import may, user_of
from archivebox.accounts.roles import Action
from archivebox.api.credentials import somebody, whoever, write_down
from archivebox.api.problems import ProblemError
from archivebox.api.shapes.archive import CrawlIn, CrawlPlan
from archivebox.base_models.transactions import write_transaction
from archivebox.config.resolve import Layer
from archivebox.core.intake.add_urls import Refusal, Seed, check_seeds, create_crawl
from archivebox.core.intake.persona_access import personas_of
from archivebox.crawls.crawl import Crawl
from archivebox.hooks import base_layers, plugins, resolve_settings
from archivebox.lib.jsonl import JSON

REFUSALS_SHOWN = 100


def add(request: HttpRequest, wanted: CrawlIn, seeds: Sequence[Seed] = ()) -> Crawl:
    """A crawl of ``wanted``; ``seeds``: its URLs, where more is known of them. ProblemError 422 says what is wrong."""
    taken, config = checked(request, wanted, seeds)
    user = user_of(whoever(request))
    if is_passer_by(whoever(request)):
        _limit(request, wanted, taken)
    with write_transaction():
        crawl = create_crawl(
            taken,
            created_by=user if isinstance(user, User) else None,
            max_depth=wanted.depth,
            tags=wanted.tags,
            config=config,
            label=wanted.label,
            persona=checked_persona(request, wanted.persona),
            hold=wanted.hold,
            visibility=wanted.visibility or "",
        )
        write_down(request, "crawl.created", crawl, urls=len(taken))
    return crawl


def _limit(request: HttpRequest, wanted: CrawlIn, seeds: Sequence[Seed]) -> None:
    """ProblemError 403 where anonymous chooses more than URLs and a depth, 429 where these are too many."""
    others = wanted.dict(exclude_defaults=True).keys() - {"urls", "depth"}
    if any(seed.title or seed.bookmarked_at for seed in seeds):
        others |= {"title"}
    try:
        check_choices(wanted.depth, others)
        count_urls(request.META.get("REMOTE_ADDR", ""), len(seeds))
    except PasserByError as error:
        raise ProblemError(403, str(error)) from None
    except TooManyUrlsError as error:
        raise ProblemError(429, str(error), retry_after=error.wait) from None


def checked(request: HttpRequest, wanted: CrawlPlan, seeds: Sequence[Seed] = ()) -> tuple[list[Seed], dict[str, JSON]]:
    """The URLs and the settings of a crawl that somebody wants. ProblemError 422 says what is wrong."""
    config = _config(wanted)
    given = list(seeds) or [Seed(url) for url in wanted.urls]
    settings = resolve_settings([*base_layers(), Layer("crawl", config)])
    who = whoever(request)
    taken, refused = check_seeds(given, settings, may_name_private=may(who, Action.ADMINISTER))
    if refused:
        errors = [_refusal(one) for one in refused[:REFUSALS_SHOWN]]
        raise ProblemError(422, f"Nothing was added. {refused[0].sentence}", errors=errors)
    return taken, config


def _refusal(one: Refusal) -> JSON:
    return {"where": f"body.urls.{one.line - 1}", "code": one.code, "detail": one.sentence}


def _config(wanted: CrawlPlan) -> dict[str, JSON]:
    """The settings of the crawl: those that a program may choose, which start no other program and open no network."""
    unknown = sorted(set(wanted.plugins) - set(plugins()))
    if unknown:
        raise ProblemError(422, f"There is no plugin {unknown[0]!r}.")
    chosen: dict[str, JSON] = {
        "PLUGINS": list(wanted.plugins) or None,
        "URL_SCOPE": wanted.scope,
        "MAX_URLS": wanted.max_urls,
        "MAX_SIZE": wanted.max_size,
        "KEEP_UNCHANGED": wanted.keep_unchanged,
    }
    return {name: value for name, value in chosen.items() if value is not None}


def checked_persona(request: HttpRequest, name: str) -> str:
    """The name of a persona that is there, and as which whoever asks may visit pages. ProblemError 422."""
    if name and name not in personas_of(somebody(request)):
        raise ProblemError(422, f"There is no persona {name!r} that is shared with you.")
    return name
