"""What is promised of a crawl's browser and its other hooks holds in many random lives."""

import pytest

from archivebox.testing.simulate_crawl import failures

LIVES = 200


def test_what_is_promised_of_a_crawl_holds_in_random_lives() -> None:
    assert failures(range(LIVES)) == []


@pytest.mark.slow
def test_what_is_promised_of_a_crawl_holds_in_many_random_lives() -> None:
    assert failures(range(LIVES, LIVES + 10_000)) == []
