"""Workers deliver what happens: signed, until it is taken, whoever is killed when."""

import json

import pytest

from tests.integration.engine.driver import Collection, Row
from tests.receiver import documented, receiver

pytestmark = pytest.mark.database


def delivery(forked: Collection, **where: object) -> Row:
    return forked.row("Delivery", "pk", "status", "tries", "http_status", "problem", "owner", "event", **where)


@pytest.mark.default
def test_a_message_is_signed_and_sent_until_it_is_taken_though_everybody_is_killed(forked: Collection) -> None:
    forked.plugin("one", {"on_Snapshot__10_one.sh": "echo kept > kept.txt\n"})
    with receiver() as taking:
        key, secret = forked.actor.ask("webhook", url=taking.url, events=["snapshot.sealed"])
        taking.answers = [500, 0]
        crawl = forked.add("http://one.test/", "http://two.test/")
        page = forked.row("Snapshot", "pk", url="http://one.test/")["pk"]
        forked.actor.ask("narrow_webhook", key=key, query="url:one.test")
        forked.watch()
        forked.wait("a try that fails", lambda: forked.rows("Delivery", tries=1))
        assert delivery(forked, tries=1) | {"pk": ""} == {
            "pk": "", "status": "queued", "tries": 1, "http_status": 500, "owner": None, "event": "snapshot.sealed",
            "problem": "It answered 500, and should answer 2xx.",
        }  # fmt: skip
        forked.wait_sealed(crawl)
        forked.actor.ask("deliver_now")
        forked.wait("a try that hangs", lambda: len(taking.posts) == 2)
        forked.kill()
        assert delivery(forked, tries=1)["owner"] is not None, "killed in the middle of it"

        forked.watch()
        forked.wait("the end", lambda: forked.rows("Delivery", status="succeeded"))
        ours, is_genuine = delivery(forked), documented()
        assert (ours["tries"], ours["http_status"], ours["problem"]) == (2, 204, "")
        assert [post.fields["webhook-id"] for post in taking.posts] == [ours["pk"]] * 3
        assert all(is_genuine(secret, post.fields, post.body) for post in taking.posts)
        assert not is_genuine(secret, taking.posts[0].fields, taking.posts[0].body + b" ")
        told = json.loads(taking.posts[0].body)
        assert (told["type"], told["data"]["id"], told["data"]["url"]) == ("snapshot.sealed", page, "http://one.test/")

        forked.actor.ask("remove_webhook", key=key)
        forked.wait_sealed(forked.add("http://one.test/"))
        assert not forked.rows("Delivery")
        assert len(taking.posts) == 3
        forked.leave()
