"""Pages that were archived elsewhere become Snapshots, with their content, and without a request to anybody.

A reader (`readers/`) yields each page of a source as an `ImportedPage` (`page.py`); `BatchWriter` (`batch.py`) brings
the files of some pages into the collection, and `PageImport` (`rows.py`) writes their rows. Read `BatchWriter.write`
first; `archivebox.jobs.page_imports` calls it part by part.
"""
