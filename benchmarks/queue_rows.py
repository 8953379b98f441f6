"""A million Snapshots in a hundred crawls, written by SQL alone, in half a minute."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from archivebox.base_models.users import system_user
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import Seed
from archivebox.core.snapshot import Snapshot
from archivebox.crawls.crawl import Crawl

PATTERN = "https://pattern.example/"


def crawl() -> Crawl:
    """A started crawl of one page, whose row is the pattern of all others."""
    made = create_crawl([Seed(PATTERN)], created_by=system_user())
    Crawl.objects.filter(pk=made.pk).update(status="started", retry_at=None)
    return made


def fill(into: Crawl, first: int, count: int, hosts: int, host: str = "host") -> None:
    """``count`` more queued Snapshots, numbered from ``first``, spread over ``hosts`` hosts. SQLite only."""
    replaced = {
        "id": "printf('%032x', n)",
        "url": "'https://' || printf('%s%06d', %s, n %% %s) || '.example/' || n",
        "domain": "printf('%s%06d', %s, n %% %s) || '.example'",
    }
    columns = [str(column.column) for column in Snapshot._meta.concrete_fields]
    values = ", ".join(replaced.get(name, f's."{name}"').replace("'%s%06d'", "'%%s%%06d'") for name in columns)
    values = values.replace("'%032x'", "'%%032x'")
    names = ", ".join(f'"{name}"' for name in columns)
    statement = f"""
        WITH RECURSIVE series(n) AS (SELECT %s UNION ALL SELECT n + 1 FROM series WHERE n + 1 < %s)
        INSERT INTO core_snapshot ({names}) SELECT {values}
        FROM series, (SELECT * FROM core_snapshot WHERE crawl_id = %s LIMIT 1) s
    """
    with connection.cursor() as cursor:
        arguments: list[Any] = []
        for name in columns:
            arguments += [host, hosts] * (name in {"url", "domain"})
        cursor.execute(statement, [first, first + count, *arguments, into.pk.hex])


def settle(crawls: Sequence[Crawl]) -> None:
    """Put the patterns out of the way, and the write-ahead log into the database."""
    Snapshot.objects.filter(crawl__in=crawls, url=PATTERN).update(retry_at=None)
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
