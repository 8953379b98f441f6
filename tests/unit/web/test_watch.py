"""What the look for all viewers tells of."""

import pytest
from django.utils import timezone

from archivebox.base_models.visibility import EVERYTHING
from archivebox.crawls.models import Crawl
from archivebox.web.live.hub import topic_of
from archivebox.web.live.watch import LIBRARY, ChangeWatch
from tests import factories
from tests.status_triggers import arrange

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def test_a_crawl_that_came_and_was_done_between_two_looks_is_told_once() -> None:
    watch, everywhere = ChangeWatch(), topic_of(EVERYTHING)
    watch.look([everywhere])
    crawl = factories.crawl("https://quick.example/")
    arrange(crawl.snapshot_set.all(), status="sealed", sealed_at=timezone.now())
    arrange(Crawl.objects.filter(pk=crawl.pk), status="sealed")
    assert {part.name for part in watch.look([everywhere])} >= {LIBRARY, str(crawl.pk)}
    assert watch.look([everywhere]) == []
