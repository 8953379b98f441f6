from __future__ import annotations

import pytest

from archivebox.machine.host import Machine

pytestmark = pytest.mark.usefixtures("collection")


def test_current_is_made_once() -> None:
    assert Machine.current().pk == Machine.current().pk
    assert Machine.objects.count() == 1
