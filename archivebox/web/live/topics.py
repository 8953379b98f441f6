"""Owns what a stream is told of: things that all who see as far see, and the crawls that its page shows."""

from collections.abc import Collection
from uuid import UUID

from archivebox.base_models.visibility import EVERYTHING, MEMBERS, Sight
from archivebox.web.live.hub import Topic

HEADER = "X-ArchiveBox-Topics"
"""How the view that lets somebody have a stream tells which; it goes no further."""
_NAMED = {"all": EVERYTHING, "members": MEMBERS}


def topic_of(sight: Sight, crawl_id: UUID | None = None) -> Topic:
    """``members`` or ``17``; of one crawl ``members/<id>``. Those who own nothing private share theirs."""
    name = next((name for name, known in _NAMED.items() if known == sight), str(sight.account))
    return name if crawl_id is None else f"{name}/{crawl_id}"


def sight_in(topic: Topic) -> Sight:
    name = topic.partition("/")[0]
    return _NAMED.get(name) or Sight(int(name))


def crawls_in(topics: Collection[Topic]) -> set[UUID]:
    """The crawls of which some of these are."""
    return {UUID(key) for topic in topics if (key := topic.partition("/")[2])}
