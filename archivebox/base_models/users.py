"""The user in whose name the command line works."""

from django.contrib.auth.models import User

SYSTEM = "system"


def system_user() -> User:
    """Made on first use; it cannot log in."""
    user, created = User.objects.get_or_create(username=SYSTEM, defaults={"is_active": True})
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user
