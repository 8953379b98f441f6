"""Who may open a page, and how people log in."""
