"""Files under keys, in a folder or in a store that speaks S3: what is stored there, read by ranges, listed and deleted.

The errors:

    ObjectStoreError
    ├── StoreUnavailableError    the store does not answer, or not now: try again later
    ├── StoreRefusedError        something has to be set differently: the message says what
    ├── ObjectMissingError       no object has this key
    ├── ObjectChangedError       the object was replaced while it was read: read it from its start
    └── UploadMissingError       the store knows the upload no more: begin another
"""

from archivebox.lib.object_store.interface import (
    ListedObject,
    ObjectChangedError,
    ObjectMissingError,
    ObjectStore,
    ObjectStoreError,
    RequestLimits,
    StoreRefusedError,
    StoreUnavailableError,
    UnfinishedUpload,
    UploadMissingError,
    is_sent_at_once,
)
from archivebox.lib.object_store.urls import open_store

__all__ = [
    "ListedObject",
    "ObjectChangedError",
    "ObjectMissingError",
    "ObjectStore",
    "ObjectStoreError",
    "RequestLimits",
    "StoreRefusedError",
    "StoreUnavailableError",
    "UnfinishedUpload",
    "UploadMissingError",
    "is_sent_at_once",
    "open_store",
]
