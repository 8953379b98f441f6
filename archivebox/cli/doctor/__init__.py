"""Owns the options of `archivebox doctor`."""

from archivebox.cli.declare import command
from archivebox.cli.session import Needs

COMMAND = command(
    "doctor",
    "doctor.body",
    "Check programs, fonts, sandbox, disk, database, settings; says what to do.",
    needs=Needs.MODELS,
)
