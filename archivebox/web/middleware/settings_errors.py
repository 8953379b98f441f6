"""Turns settings that cannot be read, wherever a page asks for them, into a page that says so."""

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from archivebox.config.conffile import ConfError
from archivebox.config.resolve import SettingError
from archivebox.web.views import errors


class Misconfigured(MiddlewareMixin):
    """ArchiveBox.conf may be edited, and spoilt, while the server runs."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        return errors.misconfigured(request, error) if isinstance(error, ConfError | SettingError) else None
