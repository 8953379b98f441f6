"""One module per source: each reads what is there and yields `ImportedPage`."""
