"""Run on a machine of a fleet whose workers have ended: deletes from the object store what nothing needs, compares the
rest with the rows, byte by byte, and prints what it found as JSON.
"""

import hashlib
import json
import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "archivebox.config.settings"
django.setup()

from archivebox.config.collection import open_collection  # noqa: E402 - models can be imported only now
from archivebox.config.page_storage import object_store  # noqa: E402
from archivebox.core.page_storage.maintenance import (  # noqa: E402
    StoreGarbage,
    collect_unknown,
    collect_unused,
    collect_uploads,
)
from archivebox.core.page_storage.stored_object import COLLECTION, StoredObject  # noqa: E402


def main() -> None:
    open_collection(create=False)
    listed = {one.key for one in object_store().list("")}
    unknown = listed - set(StoredObject.objects.values_list("key", flat=True))
    deleted = collect_garbage()
    left = sorted(one.key for one in object_store().list(""))
    rows = {row.key: row for row in StoredObject.objects.all()}
    pages = StoredObject.objects.current()
    found = {
        "without_row": len(unknown),
        "deleted": deleted,
        "left": len(left),
        "rows": len(rows),
        "same": sum(digest_of(key) == rows[key].sha256 for key in left if is_file(key) and key in rows),
        "files": sum(map(is_file, left)),
        "pages": pages.values("snapshot").distinct().count(),
        "needed": 1 + pages.count(),
        "bytes": sum(row.size for row in rows.values()),
    }
    print(json.dumps(found))


def collect_garbage() -> int:
    """STORAGE_GRACE is 0."""
    report = StoreGarbage()
    while collect_unused(report):
        continue
    collect_uploads(report)
    collect_unknown(report)
    return report.objects + report.uploads + report.unknown


def digest_of(key: str) -> str:
    digest = hashlib.sha256()
    for block in object_store().read(key):
        digest.update(block)
    return digest.hexdigest()


def is_file(key: str) -> bool:
    return not key.startswith(COLLECTION)


if __name__ == "__main__":
    main()
