"""Passing the requests of programs to the intake."""

from functools import partial

from django.http import HttpRequest

from archivebox.accounts.permission import requester_of
from archivebox.api.credentials import caller, record_audit
from archivebox.core.intake.request import CrawlRequest, Requester
from archivebox.core.intake.submit import submit
from archivebox.crawls.crawl import Crawl


def add(request: HttpRequest, wanted: CrawlRequest) -> Crawl:
    """The crawl of a request that captures whatever it names. RequestRefusedError."""
    return submit(wanted, requester(request), partial(record_audit, request, "crawl.created")).made


def requester(request: HttpRequest) -> Requester:
    """Who asks."""
    return requester_of(caller(request), request.META.get("REMOTE_ADDR", ""))
