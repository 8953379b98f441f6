"""Owns the options of `archivebox storage`."""

from archivebox.cli.declare import Group, command, flag, option

COMMAND = Group(
    "storage",
    commands=[
        command(
            "verify",
            "storage.body:verify",
            "Compare what the object store of STORAGE_URL lists with what was stored there: keys and sizes. "
            "Status 1 if something differs.",
            [flag("--digests", text="Read every object, and compare its SHA-256.")],
        ),
        command(
            "move",
            "storage.body:move",
            "Store the sealed pages of this data folder that are not in STORAGE_URL. Repeat it after an interruption.",
            [
                option(
                    "--to",
                    text="Instead, copy what is in STORAGE_URL to another store, or to this data folder (`disk`).",
                    metavar="URL|disk",
                    default="",
                )
            ],
        ),
        command(
            "gc",
            "storage.body:collect",
            "Delete stored bodies that no page has any more, and objects that nothing has needed for STORAGE_GRACE.",
        ),
        command(
            "dedupe",
            "storage.body:dedupe",
            "Store bodies that pages have copies of once again, as after an import or a copy without hard links.",
        ),
    ],
    help="Maintain storage: files that pages share on the disk, and the object store.",
    no_args_is_help=True,
)
