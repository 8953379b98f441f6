"""Owns the options of `archivebox tag`."""

from archivebox.cli.declare import command, flag, group, option, words
from archivebox.cli.fields import TAG
from archivebox.cli.model_commands import delete_command, list_command, update_command

NAMES = words("ids", "[NAME|-]...")
COMMAND = group(
    "tag",
    "Tags: make, rename, merge and delete them.",
    [
        command(
            "create",
            "tag.changes:create",
            "Create tags and print their records; existing tags are not changed.\n\n"
            "archivebox tag create news science | jq -r .name",
            [words("names", "NAME...", required=True)],
        ),
        list_command(
            "tag",
            "Tags, by name, and how many pages have each.",
            TAG,
            "archivebox tag list --name old | archivebox list -",
        ),
        update_command(
            "tag",
            "Give tags another name, and print their records.",
            "archivebox tag list --name__istartswith old- | archivebox tag update --name old --merge",
            [
                option("--name", "-n", text="The new name.", metavar="NAME"),
                flag("--merge", text="Where there is such a tag, or several are chosen, make them one."),
            ],
            NAMES,
        ),
        delete_command(
            "tag",
            "Take tags off all pages, and delete them.",
            TAG,
            "archivebox tag list --name__icontains unused | archivebox tag delete --yes",
            NAMES,
        ),
    ],
)
