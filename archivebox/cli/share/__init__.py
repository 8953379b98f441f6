"""Owns the options of `archivebox share`."""

import click

from archivebox.cli.declare import command, flag, group, option, word, words

COMMAND = group(
    "share",
    "Links that show a page, or what a saved search finds, to whoever has them: create, list, revoke.",
    [
        command(
            "create",
            "share.body:create",
            "Create a link to a page, or with --search to a saved search. Its address is printed once.",
            [
                words("page", "[URL|ID]"),
                option("--search", text="The saved search of this name.", metavar="NAME"),
                option("--user", text="Whose it is; without it, the administrator's.", metavar="NAME"),
                option("--days", text="Days until it expires.", default=30, type=click.IntRange(1, 365)),
            ],
        ),
        command(
            "list",
            "share.body:list_",
            "Links that open something, the newest first.",
            [flag("--all", text="Also those that were revoked or have expired.")],
        ),
        command("revoke", "share.body:revoke", "Revoke one.", [word("id", "ID")]),
    ],
)
