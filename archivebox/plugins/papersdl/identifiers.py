"""What papers-dl calls the paper that an address names."""

from __future__ import annotations

import re
from urllib.parse import unquote

# https://info.arxiv.org/help/arxiv_identifier.html, both schemes; DOI: https://www.doi.org/doi-handbook/, 3.2.
_ARXIV = re.compile(
    r"^https?://([^/?#]+\.)?arxiv\.org/(?:abs|pdf|html)/(?P<id>(\d{4}\.\d{4,5}|[a-z-]+(\.[A-Z]{2})?/\d{7})(v\d+)?)"
)
_DOI = re.compile(r"/(?P<id>10\.\d{4,9}/[^?#\s]+)")


def identifier_of(url: str) -> str:
    """`arXiv:2101.00001` or a DOI, "" when the address names neither.

    >>> identifier_of("https://arxiv.org/pdf/2101.00001v2"), identifier_of("https://doi.org/10.1000/182?x")
    ('arXiv:2101.00001v2', '10.1000/182')
    """
    address = unquote(url)
    arxiv, doi = _ARXIV.match(address), _DOI.search(address)
    if arxiv:
        return f"arXiv:{arxiv['id']}"
    return doi["id"].rstrip("/") if doi else ""
