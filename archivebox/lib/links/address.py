"""Owns turning what a link says into an address."""

import re

import ada_url

_WEB = re.compile(r"https?:", re.IGNORECASE)


def resolve(link: str, base: str) -> str:
    """``link`` as an absolute http(s) URL, resolved as a browser does (URL Standard); empty when it is none.

    Without a ``base`` an absolute one stays as it is written.
    """
    link = link.strip()
    if not base:
        return link if _WEB.match(link) else ""
    try:
        url = ada_url.URL(link, base)
    except ValueError:
        return ""
    return str(url.href) if _WEB.match(url.protocol) else ""
