"""Owns whose account a command acts for."""

from django.contrib.auth.models import User

from archivebox.cli.errors import BadInputError


def account(name: str | None) -> User:
    """The account of this name, else the oldest administrator; BadInputError where there is none."""
    active = User.objects.filter(is_active=True)
    found = active.filter(username=name) if name else active.filter(is_superuser=True).order_by("pk")
    user = found.first()
    if user is None:
        what = f"an account {name}" if name else "an administrator yet"
        raise BadInputError(f"There is not {what}. `archivebox manage createsuperuser` makes one.")
    return user
