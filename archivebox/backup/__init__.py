"""Backups of a collection: folders of ordinary files with a manifest, made while the collection is used.

``make.make_backup`` makes one, ``restore.restore`` makes a collection of it, ``restore.verify`` checks it;
``destination`` is the folder that backups lie in, ``manifest`` what is in one, ``copying`` how files are copied.
"""
