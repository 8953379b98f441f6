"""One message goes where the rules let it, over a connection that can be trusted, within its time."""

import asyncio
import ssl
from pathlib import Path

import pytest

from archivebox.lib.egress import Dialer, DialRules, Message, NotConnected, PostResponse, post, posting
from archivebox.lib.networks import NetworkRules, OpenedNetworks
from archivebox.lib.urls import parse_url
from tests.receiver import Receiver, receiver
from tests.site import serve

OPEN = Dialer(DialRules(NetworkRules(OpenedNetworks.parse(["127.0.0.0/8", "localhost"]))))
CERTIFICATE = Path(serve.__file__).with_name("tls.pem")


def sent(to: Receiver, dialer: Dialer = OPEN, seconds: float = 90.0) -> PostResponse:
    message = Message(parse_url(to.url), {"User-Agent": "us"}, b"{}")
    return asyncio.run(post(dialer, message, seconds))


def test_what_is_answered_is_the_status_and_no_redirect_is_followed() -> None:
    with receiver() as taking:
        taking.answers = [204, 302, 500]
        assert [sent(taking).status for _ in range(3)] == [204, 302, 500]
        assert taking.posts[0].fields["user-agent"] == "us"
        assert len(taking.posts) == 3


@pytest.mark.parametrize(
    ("wish", "seconds"),
    [("120", 120), ("Wed, 01 Jan 2500 00:00:00 GMT", 1e9), ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("soon", 0)],
)
def test_an_answer_says_for_how_long_it_wishes_to_be_left_alone(wish: str, seconds: float) -> None:
    with receiver() as taking:
        taking.answers, taking.fields = [503], {"retry-AFTER": wish}
        status, wished = sent(taking)
    assert (status, min(wished, 1e9)) == (503, seconds)


def test_a_private_address_is_refused_and_who_never_answers_is_left() -> None:
    with receiver() as taking:
        with pytest.raises(NotConnected, match="on a private network"):
            sent(taking, Dialer(DialRules()))
        assert not taking.posts
        taking.answers = [0]
        with pytest.raises(TimeoutError):
            sent(taking, seconds=0.2)


def test_over_tls_the_certificate_has_to_be_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(CERTIFICATE) as taking:
        with pytest.raises(ssl.SSLCertVerificationError):
            sent(taking)
        assert not taking.posts
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        posting.system_ssl_context.cache_clear()
        try:
            assert sent(taking).status == 204
        finally:
            posting.system_ssl_context.cache_clear()
