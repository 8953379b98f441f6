"""How much one page may bring into the collection: what is beyond is left out, and its hook's result says so."""

from collections.abc import Sequence

from archivebox.config.resolve import Resolved
from archivebox.contract.reasons import Reason
from archivebox.contract.records import Record


class PageLimits:
    """What is left for one Snapshot in its worker's hands, by type of record."""

    def __init__(self, settings: Resolved) -> None:
        self._most = {
            "Snapshot": settings.get_int("MAX_URLS_PER_PAGE"),
            "Tag": settings.get_int("MAX_TAGS_PER_PAGE"),
        }
        self._left = dict(self._most)

    def admit(self, records: Sequence[Record]) -> tuple[list[Record], str]:
        """Those of the records that are taken, and the reason code where some are not."""
        taken: list[Record] = []
        beyond = ""
        for record in records:
            if record.type not in self._left or record.fields.get("id"):
                taken.append(record)
            elif self._left[record.type] > 0:
                self._left[record.type] -= 1
                taken.append(record)
            else:
                beyond = Reason.TOO_MUCH_FOUND.of(f"{self._most[record.type]:,} {_WORDS[record.type]}")
        return taken, beyond


_WORDS = {"Snapshot": "links", "Tag": "tags"}
