"""``archivebox manage login_link``: a link that logs in once, for whoever has no password or forgot it."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from archivebox.accounts.login_links import make_login_token
from archivebox.config.early import early_settings
from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.addresses import ListenAddress
from archivebox.web import settings
from archivebox.workers.supervise.first_admin import admin_to_log_in, login_address
from archivebox.workers.supervise.serving import served_at


class Command(BaseCommand):
    help = "Prints a link that logs in once, within an hour."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username", nargs="?", help="whom it logs in; without it, an administrator")
        parser.add_argument(
            "--url", default="", help="where people reach the server, if not as BASE_URL or itself says"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        del args
        name = options["username"]
        user = User.objects.filter(username=name, is_active=True).first() if name else admin_to_log_in()
        if user is None:
            raise CommandError(f"No account named {name}.")
        base = options["url"] or settings.BASE_URL or self._served()
        self.stdout.write(login_address(base, make_login_token(user.pk)))

    def _served(self) -> str:
        """Where the server is, or will be when it is started as it is set."""
        if found := served_at():
            return found[0].url
        self.stderr.write("No server is running here. Start one with `archivebox server`, then open:")
        return ListenAddress.parse(early_settings(DATA_FOLDER).get_text("BIND_ADDR")).url
