"""Owns what the settings say of the OpenID provider; they are read at each log-in, so that a change counts at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from archivebox.accounts.roles import Role
from archivebox.config.early import early_settings
from archivebox.config.settings import DATA_FOLDER
from archivebox.lib.jsonl import JSON

if TYPE_CHECKING:
    from archivebox.accounts.openid.provider import Provider

Claims = Mapping[str, JSON]
"""What a provider says of somebody."""
_LISTS = {Role.ADMIN: "OIDC_ADMINS", Role.EDITOR: "OIDC_EDITORS", Role.VIEWER: "OIDC_VIEWERS"}
"""Who is what; the first that fits counts."""


@dataclass(frozen=True, slots=True)
class OpenIDSettings:
    """One provider, and who comes in by it as what."""

    issuer: str
    client_id: str
    client_secret: str
    name: str
    scopes: tuple[str, ...]
    username_claim: str
    role_claim: str
    groups: Mapping[Role, frozenset[str]]
    default_role: Role | None

    @property
    def gives_roles(self) -> bool:
        """Whether the provider says who is what; else people keep the role that they were given here."""
        return any(self.groups.values())

    def role_of(self, claims: Claims) -> Role | None:
        """As what somebody comes in who is new here, or whose role the provider says; None: not at all."""
        told = _texts(claim(claims, self.role_claim))
        return next((role for role, groups in self.groups.items() if groups & told), self.default_role)


def openid_settings() -> OpenIDSettings | None:
    """The provider that is set, if one is."""
    resolved = early_settings(DATA_FOLDER)
    issuer, client_id = resolved.get_text("OIDC_ISSUER"), resolved.get_text("OIDC_CLIENT_ID")
    if not issuer or not client_id:
        return None
    default = resolved.get_text("OIDC_DEFAULT_ROLE")
    return OpenIDSettings(
        issuer=issuer,
        client_id=client_id,
        client_secret=resolved.get_text("OIDC_CLIENT_SECRET"),
        name=resolved.get_text("OIDC_NAME") or urlsplit(issuer).hostname or issuer,
        scopes=resolved.get_list("OIDC_SCOPES"),
        username_claim=resolved.get_text("OIDC_USERNAME_CLAIM"),
        role_claim=resolved.get_text("OIDC_ROLE_CLAIM"),
        groups={role: frozenset(resolved.get_list(name)) for role, name in _LISTS.items()},
        default_role=Role(default) if default else None,
    )


def takes_passwords() -> bool:
    """Whether people may log in with a password of this server."""
    return early_settings(DATA_FOLDER).get_flag("PASSWORD_LOGIN")


def claim(claims: Claims, name: str) -> JSON:
    """A claim by its name, or by its way into an object: ``realm_access.roles``. None where there is none."""
    found: JSON = claims.get(name)
    if found is None and "." in name:
        outer, inner = name.split(".", 1)
        within = claims.get(outer)
        return claim(within, inner) if isinstance(within, dict) else None
    return found


def _texts(value: JSON) -> frozenset[str]:
    """One text, or a list of them."""
    return frozenset(str(one) for one in (value if isinstance(value, list) else [value]) if one is not None)


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
