"""Owns the app as an ASGI server sees it, ours or another."""

import os
import threading
from importlib import import_module

from django.core.asgi import get_asgi_application

from archivebox.web.server.request_gate import Application, RequestGate
from archivebox.web.server.trusted_proxies import Proxies


def _made() -> Application:
    os.environ["DJANGO_SETTINGS_MODULE"] = "archivebox.web.settings"
    app = get_asgi_application()
    from archivebox.web import settings  # Django has read it just now, and not before
    from archivebox.web.auth.sessions import may_upload  # models need Django to be set up
    from archivebox.web.live.stream import with_streams  # models can be imported only once Django is set up
    from archivebox.web.server.preload import preload  # views can be imported only once Django is set up
    from archivebox.web.server.request_metrics import RequestMetrics  # models need Django to be set up

    import_module(settings.ROOT_URLCONF)
    threading.Thread(target=preload, daemon=True).start()  # compiling all templates takes 0.3 s of a processor
    answered = with_streams(RequestMetrics(RequestGate(app, may_upload)))
    return Proxies(answered, settings.TRUSTED_PROXIES, settings.REVERSE_PROXY_USER_HEADER, settings.BELOW)


application = _made()
