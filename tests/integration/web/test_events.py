"""What changes is told to everybody who looks, and to nobody else."""

import pytest

from tests.webserver.events import Events
from tests.webserver.fixtures import Library
from tests.webserver.server import in_collection

pytestmark = pytest.mark.database


def test_nobody_without_a_log_in_is_told_anything(library: Library) -> None:
    answer = library.stranger().get("/events/")
    assert answer.status == 302
    assert answer.headers["location"].startswith("/login/")


def test_a_viewer_is_told_what_runs_when_it_comes_and_what_changes_after(library_with_workers: Library) -> None:
    library, crawl = library_with_workers, library_with_workers.crawl
    with Events(library.visitor) as elsewhere:  # while somebody looks, what changed is remembered
        with Events(library.visitor, f"?crawl={crawl}") as viewer:
            first = viewer.next()
            assert first["reload"]
            assert f'data-part="counts-{crawl}"' in first["parts"][f"counts-{crawl}"]
            assert f"counts-{crawl}" not in elsewhere.next()["parts"], "only pages of this crawl are told of it"
            last_id = viewer.last_id
            resume = "import sys; from archivebox.crawls import control; from archivebox.crawls.models import Crawl; "
            in_collection(library.server.folder, resume + "control.resume(Crawl.objects.get(pk=sys.argv[1]))", crawl)
            viewer.until(f"counts-{crawl}", "badge good")  # nothing of it is left to be done
        with Events(library.visitor, f"?crawl={crawl}", last_id) as again:
            found = again.next()
            assert not found["reload"], "who comes back in time is told only what is new"
            assert "badge good" in found["parts"][f"counts-{crawl}"]
    with Events(library.visitor, f"?crawl={crawl}", "another-1") as late:
        assert late.next()["reload"], "who was told by a server that is gone loads its page anew"
