"""Owns what the app needs of the provider's part, which is loaded only where a provider is set."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from archivebox.accounts.openid.provider_settings import OpenIDSettings

if TYPE_CHECKING:
    from archivebox.accounts.openid.provider import Provider


class OpenIDError(Exception):
    """Why somebody does not come in: a sentence, and what to do next; ``status`` is that of the answer."""

    def __init__(self, sentence: str, status: int = 403) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, slots=True)
class Secrets:
    """What ties an answer of the provider to the browser that began: nobody else can make or use it."""

    state: str
    nonce: str
    verifier: str


def provider_for(settings: OpenIDSettings, redirect_uri: str) -> "Provider":
    """The provider that is set, asked in the name of one visitor whom it sends back to ``redirect_uri``."""
    from archivebox.accounts.openid.provider import Provider  # 0.3 s and 18 MB, for servers that have one

    return Provider(settings, redirect_uri)
