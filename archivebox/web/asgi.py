"""Owns the app as an ASGI server sees it, ours or another."""

import os

from django.core.asgi import get_asgi_application

from archivebox.web.gate import Gate

os.environ["DJANGO_SETTINGS_MODULE"] = "archivebox.web.settings"
application = Gate(get_asgi_application())
