"""Owns which network interface a hook's connections left by, as its result says it."""

from uuid import UUID

from archivebox.machine.host import NetworkInterface
from archivebox.workers.egress.crawl_proxies import CrawlProxies
from archivebox.workers.egress.local_addresses import place_key
from archivebox.workers.execute.journal import Journal


class Interfaces:
    """The rows of addresses that this worker has come across; each is written once."""

    def __init__(self, journal: Journal, proxies: CrawlProxies, machine_id: UUID) -> None:
        self._journal, self._proxies, self._machine_id = journal, proxies, machine_id
        self._keys: dict[str, UUID] = {}

    def of_process(self, crawl_id: UUID, process_id: UUID) -> UUID | None:
        """By which the connections left that a process made itself, or its programs; None where it made none."""
        return self._key_of(self._proxies.local_address(crawl_id, str(process_id)))

    def of_url(self, crawl_id: UUID, url: str) -> UUID | None:
        """By which the crawl's browser reached the host of a URL; None where it did not."""
        return self._key_of(self._proxies.local_address(crawl_id, place_key(url)))

    def _key_of(self, address: str) -> UUID | None:
        if not address:
            return None
        if address not in self._keys:
            row = NetworkInterface.with_address(self._machine_id, address)
            self._journal.effect(row.save_if_new)
            self._keys[address] = row.pk
        return self._keys[address]
