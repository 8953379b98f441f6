"""What ArchiveBox's browser extension calls: the URLs of the tabs that somebody wants archived."""

from typing import Annotated
from uuid import UUID

from django.http import HttpRequest
from ninja import Router, Schema
from pydantic import Field

from archivebox.accounts.roles import Action
from archivebox.api.credentials import Bearer
from archivebox.api.routes.crawls import add
from archivebox.api.shapes.archive import Text
from archivebox.core.intake.request import CrawlRequest
from archivebox.core.tag import split_tags

router = Router(tags=["browser extension"])


class ExtensionAdd(Schema):
    """As the extension sends it; what else it says (``parser``, ``update``) has no meaning here."""

    urls: Annotated[list[Text], Field(min_length=1)]
    tag: Text = ""
    tags: Text | list[Text] = ""
    depth: int = 0


class ExtensionAdded(Schema):
    """As the extension reads it."""

    success: bool
    errors: list[str]
    result: list[UUID]


@router.post("/cli/add", response=ExtensionAdded, auth=Bearer(Action.ADD))
def add_tabs(request: HttpRequest, wanted: ExtensionAdd) -> ExtensionAdded:
    """Have URLs archived. The token may be in the header `X-ArchiveBox-API-Key`."""
    given = wanted.tags if isinstance(wanted.tags, str) else ",".join(wanted.tags)
    names = list(dict.fromkeys(name[:100] for name in split_tags(f"{wanted.tag},{given}")))
    crawl = add(request, CrawlRequest(urls=wanted.urls, depth=wanted.depth, tags=names[:100]))
    return ExtensionAdded(success=True, errors=[], result=list(crawl.snapshot_set.values_list("pk", flat=True)))
