"""Owns the options of `archivebox webhook`."""

from archivebox.cli.declare import IDS, LIMIT, command, group, option, word

COMMAND = group(
    "webhook",
    "Notify other programs of events: add, show, test and remove webhooks.",
    [
        command(
            "add",
            "webhook.body:add",
            "Send events to an address. The secret that signs its messages is printed only once.",
            [
                word("url", "URL"),
                option(
                    "--event",
                    text="An event to send, such as crawl.finished; may be given more than once.",
                    default=["snapshot.sealed", "snapshot.failed"],
                    show_default=True,
                    multiple=True,
                    metavar="NAME",
                ),
                option("--query", "-q", text="Only pages that match this query.", default=""),
                option("--label", text="What it is for.", default="", metavar="TEXT"),
                option("--user", text="Whose it is; without it, the administrator's.", metavar="NAME"),
            ],
        ),
        command("list", "webhook.body:list_", "Webhooks, the newest first.", [LIMIT]),
        command("show", "webhook.body:show", "Show a webhook and its messages.", [word("id", "ID"), LIMIT]),
        command("test", "webhook.body:test", "Send it a test message.", [IDS]),
        command("resend", "webhook.body:resend", "Send messages again, by the ids that `show` lists.", [IDS]),
        command("enable", "webhook.body:enable", "Switch it on; what waited is sent.", [IDS]),
        command("disable", "webhook.body:disable", "Disable it; pending messages are held.", [IDS]),
        command("secret", "webhook.body:secret", "Sign with a new secret, which is printed.", [word("id", "ID")]),
        command("remove", "webhook.body:remove", "Delete it and its messages.", [IDS]),
    ],
)
