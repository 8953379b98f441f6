#!/usr/bin/env python3
"""Offer 2Captcha Solver, where a person has put it, to the crawl's browser."""

from __future__ import annotations

from archivebox.plugins.base.extension import offer_extension

if __name__ == "__main__":
    offer_extension("captcha2", "2Captcha Solver")
