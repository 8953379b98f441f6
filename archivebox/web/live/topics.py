"""Owns what a stream is told of: things that all who see as far see, and the crawls that its page shows."""

from collections.abc import Collection
from uuid import UUID

from archivebox.base_models.visibility import EVERYTHING, MEMBERS, ViewerScope
from archivebox.web.live.hub import Topic

HEADER = "X-ArchiveBox-Topics"
"""How the view that lets somebody have a stream tells which; it goes no further."""
_NAMED = {"all": EVERYTHING, "members": MEMBERS}


def topic_of(scope: ViewerScope, crawl_id: UUID | None = None) -> Topic:
    """``members`` or ``17``; of one crawl ``members/<id>``. Those who own nothing private share theirs."""
    name = next((name for name, known in _NAMED.items() if known == scope), str(scope.account))
    return name if crawl_id is None else f"{name}/{crawl_id}"


def scope_in(topic: Topic) -> ViewerScope:
    name = topic.partition("/")[0]
    return _NAMED.get(name) or ViewerScope(int(name))


def crawls_in(topics: Collection[Topic]) -> set[UUID]:
    """The crawls of which some of these are."""
    return {UUID(key) for topic in topics if (key := topic.partition("/")[2])}
