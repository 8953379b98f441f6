"""Owns that what starts a log-in in two steps completes it once, however many requests come at a time."""

import hashlib
from datetime import timedelta

from django.utils import timezone

from archivebox.accounts.second_factor.rows import SpentChallenge
from archivebox.base_models.rows import first_id
from archivebox.base_models.transactions import write_transaction

LIFETIME = 300
"""Seconds from the password to the second factor."""


def spend(seed: str) -> bool:
    """Whether nobody has spent it before. A seed expires by itself, so that rows need to stay no longer than that."""
    digest = hashlib.sha256(seed.encode()).hexdigest()
    with write_transaction():
        expired = first_id(timezone.now() - 2 * timedelta(seconds=LIFETIME))
        SpentChallenge.objects.filter(pk__lt=expired).delete()
        _, is_first = SpentChallenge.objects.get_or_create(digest=digest)
    return is_first
