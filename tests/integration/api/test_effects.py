"""`docs/api.md` says of every POST whether it has effects outside the database, and what sending it again does then."""

import re
from pathlib import Path

from tests.integration.api.test_authorisation import API

TABLE = Path(__file__).parents[3] / "docs" / "api.md"
DATABASE_ALONE = {
    "snapshots/{snapshot_id}/{change}",
    "results/{result_id}/retry",
    "crawls/{crawl_id}/retry",
    "crawls/{crawl_id}/{change}",
    "schedules/{schedule_id}/run",
    "schedules/{schedule_id}/{change}",
    "tags",
    "tags/{tag_id}/merge",
    "snapshots/{snapshot_id}/notes",
    "searches",
    "shares",
    "imports/{import_id}/start",
    "jobs/{job_id}/{change}",
    "machines/{machine_id}/drain",
    "machines/{machine_id}/resume",
    "tokens",
    "users",
    "webhooks",
    "webhooks/{webhook_id}/secret",
}
"""What every other POST of that chapter is: a new one is put here, or into the table."""


def test_every_post_is_in_the_table_or_changes_the_database_alone() -> None:
    posts = {re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", address) for address, row in API.items() if "POST" in row}
    chapter = TABLE.read_text().partition("| POST |")[2].partition("\n\n")[0]
    listed = {
        path
        for line in chapter.splitlines()
        for path in re.findall(r"`/([^`]+)`", line.split("|")[1] if "|" in line else "")
    }
    assert posts == listed | DATABASE_ALONE
    assert not listed & DATABASE_ALONE
