#!/usr/bin/env python3
"""Offer I still don't care about cookies, where a person has put it, to the crawl's browser."""

from __future__ import annotations

from archivebox.plugins.base.extension import offer_extension

if __name__ == "__main__":
    offer_extension("istilldontcareaboutcookies", "I still don't care about cookies")
