"""Owns how a new collection gets its first administrator: never by a default password, always by a link."""

from django.contrib.auth.models import User

ADMIN = "admin"


def somebody_can_log_in() -> bool:
    """Whether an administrator has a password."""
    admins = User.objects.filter(is_superuser=True, is_active=True).only("password")
    return any(user.has_usable_password() for user in admins)


def admin_to_log_in() -> User:
    """The oldest administrator, made on first use, without a password."""
    found = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if found is not None:
        return found
    user, _ = User.objects.get_or_create(username=ADMIN)
    user.is_staff = user.is_superuser = user.is_active = True
    user.set_unusable_password()
    user.save()
    return user


def login_address(base_url: str, token: str) -> str:
    return f"{base_url.rstrip('/')}/login/link/{token}/"
