"""``archivebox manage reset_second_factor``: for somebody who has lost phone, passkeys and recovery codes."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from archivebox.accounts.second_factor import authenticators
from archivebox.web.auth.sessions import end_sessions


class Command(BaseCommand):
    help = "Removes the second factors of an account: its password alone opens it again. Its sessions end."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", help="whose")

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        name = options["username"]
        user = User.objects.filter(username=name).first()
        if user is None:
            raise CommandError(f"No account named {name}.")
        if not authenticators.reset(None, user):
            self.stdout.write(f"{name} has none.")
            return
        end_sessions(user)
        self.stdout.write(f"{name} is no longer asked for a second factor. Sessions have ended.")
