"""Owns the options of `archivebox token`."""

import click

from archivebox.cli.declare import command, flag, group, option, word

COMMAND = group(
    "token",
    "Tokens by which programs use the API: make, list, revoke them.",
    [
        command(
            "create",
            "token.body:create",
            "Make one. It is printed once, and cannot be shown again.",
            [
                word("label", "LABEL"),
                option("--user", text="Whose it is; without it, the administrator's.", metavar="NAME"),
                option(
                    "--scope",
                    text="What it allows; can be given more than once. Default: read.",
                    multiple=True,
                    type=click.Choice(["feed", "read", "add", "write", "admin"]),
                ),
                option("--days", text="Days until it expires.", default=365, type=click.IntRange(1, 36_500)),
                flag("--never-expires", text="It is good until it is revoked."),
            ],
        ),
        command("list", "token.body:list_", "Tokens, the newest first.", [flag("--all", text="Revoked ones too.")]),
        command("revoke", "token.body:revoke", "Revoke one.", [word("id", "ID")]),
    ],
)
