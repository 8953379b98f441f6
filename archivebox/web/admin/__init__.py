"""Rows as they are, for those who keep the collection: one file a model; importing them registers them."""

from django.contrib import admin
from django.contrib.auth.models import Group, User

from archivebox.web.admin.archiveresult import ArchiveResultAdmin
from archivebox.web.admin.binary import BinaryAdmin
from archivebox.web.admin.crawl import CrawlAdmin
from archivebox.web.admin.crawlrun import CrawlRunAdmin
from archivebox.web.admin.domain import DomainAdmin
from archivebox.web.admin.job import JobAdmin
from archivebox.web.admin.machine import MachineAdmin
from archivebox.web.admin.process import ProcessAdmin
from archivebox.web.admin.savedsearch import SavedSearchAdmin
from archivebox.web.admin.schedule import CrawlScheduleAdmin
from archivebox.web.admin.snapshot import SnapshotAdmin
from archivebox.web.admin.tag import TagAdmin
from archivebox.web.admin.unchanged_check import UnchangedCheckAdmin
from archivebox.web.admin.webhook import DeliveryAdmin, WebhookAdmin

admin.site.unregister([User, Group])  # only accounts/people.py changes accounts: it confirms, and leaves a record

__all__ = [
    "ArchiveResultAdmin",
    "BinaryAdmin",
    "CrawlAdmin",
    "CrawlRunAdmin",
    "CrawlScheduleAdmin",
    "DeliveryAdmin",
    "DomainAdmin",
    "JobAdmin",
    "MachineAdmin",
    "ProcessAdmin",
    "SavedSearchAdmin",
    "SnapshotAdmin",
    "TagAdmin",
    "UnchangedCheckAdmin",
    "WebhookAdmin",
]
