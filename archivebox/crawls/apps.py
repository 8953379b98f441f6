"""Django's registration of ``archivebox.crawls``."""

from django.apps import AppConfig


class CrawlsConfig(AppConfig):
    name = "archivebox.crawls"
    label = "crawls"
