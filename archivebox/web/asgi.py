"""Owns the app as an ASGI server sees it, ours or another."""

import os

from django.core.asgi import get_asgi_application

from archivebox.web.gate import Application, Gate


def _made() -> Application:
    os.environ["DJANGO_SETTINGS_MODULE"] = "archivebox.web.settings"
    pages = Gate(get_asgi_application())
    from archivebox.web.counted import Counted  # models can be imported only once Django is set up
    from archivebox.web.live.stream import with_streams  # models can be imported only once Django is set up

    return with_streams(Counted(pages))


application = _made()
