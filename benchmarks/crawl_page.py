"""How long the pages of a crawl of a million Snapshots take, and each of their queries for itself.

Four tenths are done, as many wait, and the rest, its newest, were let go of before anybody began them.
"""

import time
from uuid import UUID

from django.contrib.auth.models import User
from django.test import Client

from archivebox.core.snapshot import Snapshot
from benchmarks.finding import Bound, Finding
from benchmarks.library import timed
from benchmarks.queue_rows import crawl, fill, settle

PAGES = 1_000_000
CALLS = 5
SLOWEST = 5.0
"""Milliseconds that a query may take: the counts look at 10,000 entries of an index."""


def run(rounds: int) -> list[Finding]:
    """SQLite, and the app in this process; without ANALYZE, which a collection does not ask for either."""
    million = crawl()
    fill(million, 1, PAGES, 1_000)
    settle([million])
    pages = Snapshot.objects.filter(crawl=million)
    pages.filter(pk__lt=UUID(int=PAGES * 4 // 10)).update(status="sealed", retry_at=None, mime_type="text/html")
    pages.filter(pk__gt=UUID(int=PAGES * 8 // 10)).update(status="cancelled", reason="cancelled", retry_at=None)
    client = Client(HTTP_HOST="localhost")
    client.force_login(User.objects.create_superuser("bench"))
    one = f"/crawls/{million.pk}/"
    addresses = ("/crawls/", one, f"{one}?state=waiting", f"{one}?state=dropped", f"{one}?show=queue",
                 f"{one}?show=refused", "/", "/?q=is:unfetched")  # fmt: skip
    return [
        found for address in addresses for found in measure(client, address, address.replace(one, "its page "), rounds)
    ]


def measure(client: Client, address: str, name: str, rounds: int) -> list[Finding]:
    whole = Finding(f"crawl of a million, {name}", "ms", Bound.MOST, 50, [])
    slowest = Finding(f"crawl of a million, {name}: its slowest query", "ms", Bound.MOST, SLOWEST, [])
    client.get(address)
    for _ in range(rounds * CALLS):
        with timed() as queries:
            start = time.perf_counter()
            client.get(address)
            whole.ours.append((time.perf_counter() - start) * 1000)
        slowest.ours.append(max(queries))
        whole.notes["queries"] = len(queries)
    return [whole, slowest]
