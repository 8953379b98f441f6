"""Commands of ``archivebox manage`` that belong to the web."""
