"""Turns settings that cannot be read, and files that cannot be fetched, into a page that says so."""

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from archivebox.config.conffile import ConfError
from archivebox.config.resolve import SettingError
from archivebox.lib.object_store import ObjectStoreError
from archivebox.web.views import errors


class Misconfigured(MiddlewareMixin):
    """ArchiveBox.conf may be edited, and spoilt, while the server runs."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, ObjectStoreError):
            return errors.store_unavailable(request, error)
        return errors.misconfigured(request, error) if isinstance(error, ConfError | SettingError) else None
