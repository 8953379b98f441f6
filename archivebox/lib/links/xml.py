"""Owns parsing lists that are XML documents, which strangers have written."""

from xml.etree import ElementTree as ET

from archivebox.lib.links.link import LinkFileError


def refuse_entities(content: bytes) -> None:
    """LinkFileError for a document that declares entities."""
    if b"<!ENTITY" in content:
        raise LinkFileError("declares XML entities, which may blow up or read files, and is refused")


def root_of(content: bytes) -> ET.Element:
    """The root element; LinkFileError where it is not XML, or declares entities."""
    refuse_entities(content)
    try:
        return ET.fromstring(content)  # noqa: S314 - without entities there is nothing to expand or to fetch
    except (ET.ParseError, LookupError, ValueError) as error:
        raise LinkFileError(f"is not XML ({error})") from None
