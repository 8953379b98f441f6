import time
from datetime import UTC, datetime

from archivebox.base_models.rows import new_id, time_of


def test_keys_are_in_the_order_of_time_even_within_a_millisecond() -> None:
    keys = [new_id() for _ in range(5000)]
    assert keys == sorted(keys)
    assert len(set(keys)) == 5000
    assert {key.version for key in keys} == {7}


def test_a_key_knows_its_moment() -> None:
    before = datetime.fromtimestamp(int(time.time() * 1000) / 1000, tz=UTC)
    moment = time_of(new_id())
    assert before <= moment <= datetime.now(tz=UTC)
