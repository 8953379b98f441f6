"""Owns how a new collection gets its first administrator: by a password of its owner's, else by a link."""

from django.contrib.auth.models import User

from archivebox.config.resolve import Resolved

ADMIN = "admin"


def somebody_can_log_in() -> bool:
    """Whether an administrator has a password."""
    admins = User.objects.filter(is_superuser=True, is_active=True).only("password")
    return any(user.has_usable_password() for user in admins)


def admin_with_password(settings: Resolved) -> str:
    """Give ADMIN_USERNAME the password ADMIN_PASSWORD and the rights; returns the name, "" without such a password."""
    password = settings.get_text("ADMIN_PASSWORD")
    if not password:
        return ""
    user, _ = User.objects.get_or_create(username=settings.get_text("ADMIN_USERNAME"))
    user.set_password(password)
    _save_as_admin(user)
    return user.username


def admin_to_log_in() -> User:
    """The oldest administrator, made on first use, without a password."""
    found = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if found is not None:
        return found
    user, _ = User.objects.get_or_create(username=ADMIN)
    user.set_unusable_password()
    _save_as_admin(user)
    return user


def _save_as_admin(user: User) -> None:
    user.is_staff = user.is_superuser = user.is_active = True
    user.save()


def login_address(base_url: str, token: str) -> str:
    return f"{base_url.rstrip('/')}/login/link/{token}/"
