"""Puts on record who comes in and who leaves, and that somebody guesses passwords."""

from django.contrib.auth.models import User

from archivebox.accounts import audit


def log_login(user: User, **_signal: object) -> None:
    audit.record(user, "user.login", user)


def log_logout(user: User | None, **_signal: object) -> None:
    if user is not None:
        audit.record(user, "user.logout", user)


def log_failed_login(username: str) -> None:
    """No more tries for now. A name that nobody has is not kept: it may be a password in the wrong field."""
    known = User.objects.filter(username__iexact=username).first()
    audit.record(None, "login.refused", known, username=known.username if known else "unknown")


def log_failed_factor(user: User) -> None:
    """The password was right, and no more tries at the second factor are left for now."""
    audit.record(None, "login.refused", user, username=user.get_username(), reason="The second factor was wrong.")
