"""Owns the options of `archivebox share`."""

import click

from archivebox.cli.declare import command, flag, group, option, word, words

COMMAND = group(
    "share",
    "Create, list and revoke share links, which show a page or the results of a saved search to everyone who has them.",
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
            [flag("--all", text="Include revoked and expired links.")],
        ),
        command("revoke", "share.body:revoke", "Revoke one.", [word("id", "ID")]),
    ],
)
