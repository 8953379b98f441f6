"""Imports the models of crawls, so that Django finds them."""

from archivebox.crawls.crawl import Crawl, CrawlRun, Domain
from archivebox.crawls.preset import AddPreset
from archivebox.crawls.refused import Refused
from archivebox.crawls.schedule import CrawlSchedule

__all__ = ["AddPreset", "Crawl", "CrawlRun", "CrawlSchedule", "Domain", "Refused"]
