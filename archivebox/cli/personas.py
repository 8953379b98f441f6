"""Owns personas as they are named on a command line."""

import re

from archivebox.cli.errors import BadInputError
from archivebox.cli.session import Session
from archivebox.config.core import PERSONA_NAME
from archivebox.config.personas import Persona, personas_in
from archivebox.lib.suggestions import did_you_mean


def named(session: Session, name: str) -> Persona:
    """The persona of this name, which need not be there; BadInputError for what is no name."""
    if not re.search(PERSONA_NAME, name):
        raise BadInputError(f"{name!r} is not a persona's name: use letters, digits, spaces and . _ -.")
    return Persona(session.folder.persona(name))


def all_of(session: Session) -> list[Persona]:
    """Every persona of this collection, by name."""
    return personas_in(session.folder.personas)


def find(session: Session, name: str) -> Persona:
    """The persona of this name; BadInputError with the nearest names if there is none."""
    persona = named(session, name)
    if not persona.exists:
        known = (one.name for one in all_of(session))
        hint = did_you_mean(name, known, f"`archivebox persona create '{name}'` makes it.")
        raise BadInputError(f"There is no persona {name}. {hint}")
    return persona
