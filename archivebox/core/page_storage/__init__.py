"""Where the files of pages are stored, and reading them."""
