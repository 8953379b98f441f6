"""``archivebox manage login_link``: a link that logs in once, for whoever has no password or forgot it."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from archivebox.config import keys
from archivebox.config.settings import DATA_FOLDER
from archivebox.web import settings
from archivebox.workers.supervise.first_admin import admin_to_log_in, login_address


class Command(BaseCommand):
    help = "Prints a link that logs in once, within an hour."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", nargs="?", help="whom it logs in; without it, an administrator")
        parser.add_argument("--url", default="", help="where people reach the server, e.g. http://127.0.0.1:8000")

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        name = options["username"]
        user = User.objects.filter(username=name, is_active=True).first() if name else admin_to_log_in()
        if user is None:
            raise CommandError(f"There is no account {name}.")
        base = options["url"] or settings.BASE_URL or "http://127.0.0.1:8000"
        self.stdout.write(login_address(base, keys.make_login_link(DATA_FOLDER, user.pk)))
