"""The app for whoever serves it with another ASGI server than our own."""

import os

from django.core.asgi import get_asgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "archivebox.web.settings"
application = get_asgi_application()
