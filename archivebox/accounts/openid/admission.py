"""Owns who comes in by what an OpenID provider says: whose account it is, a new one, or nobody."""

from django.contrib.auth.models import User
from django.db import IntegrityError

from archivebox.accounts import audit, people
from archivebox.accounts.identity import Identity
from archivebox.accounts.openid.provider_settings import Claims, OpenIDError, OpenIDSettings, claim
from archivebox.accounts.people import PeopleError
from archivebox.accounts.roles import Role, role_of
from archivebox.base_models.transactions import write_transaction


def admit(provider: OpenIDSettings, claims: Claims) -> User:
    """The account of whom the provider names; OpenIDError says why nobody comes in, which is put on record."""
    user = Identity.owner(provider.issuer, str(claims["sub"]))
    try:
        return _admit(provider, claims, user)
    except (OpenIDError, PeopleError) as problem:
        name = user.username if user else str(claim(claims, provider.username_claim) or "")
        audit.record(None, "login.refused", user, username=name[:150], provider=provider.name, reason=str(problem))
        raise OpenIDError(str(problem)) from None


def connect(provider: OpenIDSettings, claims: Claims, user: User) -> None:
    """Have an account here opened by the provider's from now on. OpenIDError where that opens another one."""
    subject = str(claims["sub"])
    try:
        with write_transaction():
            Identity.objects.create(user=user, issuer=provider.issuer, subject=subject)
            audit.record(user, "user.connected", user, provider=provider.name)
    except IntegrityError:
        if Identity.owner(provider.issuer, subject) != user:
            raise OpenIDError(f"This {provider.name} account is already connected to another account here.") from None


def is_connected(provider: OpenIDSettings, user: User) -> bool:
    """Whether the provider opens this account."""
    return Identity.objects.filter(user=user, issuer=provider.issuer).exists()


def disconnect(provider: OpenIDSettings, user: User) -> None:
    """Have the provider open this account no more. OpenIDError where nothing else would."""
    if not user.has_usable_password():
        raise OpenIDError("Set a password first; it would be your only way to log in.")
    with write_transaction():
        Identity.objects.filter(user=user, issuer=provider.issuer).delete()
        audit.record(user, "user.disconnected", user, provider=provider.name)


def _admit(provider: OpenIDSettings, claims: Claims, user: User | None) -> User:
    if user is not None and not user.is_active:
        raise OpenIDError("Your account here is disabled. Ask an administrator of this archive.")
    role = provider.role_of(claims)
    if user is None or provider.gives_roles:
        if role is None:
            raise OpenIDError("You have no account here yet. Ask an administrator for access.")
        user = _newcomer(provider, claims, role) if user is None else _with_role(user, role)
    return user


def _newcomer(provider: OpenIDSettings, claims: Claims, role: Role) -> User:
    name = _name(provider, claims)
    if User.objects.filter(username__iexact=name).exists():
        raise OpenIDError(
            f"There is an account {name} here already. If it is yours, log in to it the way you did before, and "
            f"connect it with {provider.name} on the page of your password."
        )
    try:
        with write_transaction():
            user = people.make(None, name, role, "user.created", provider=provider.name)
            Identity.objects.create(user=user, issuer=provider.issuer, subject=str(claims["sub"]))
    except IntegrityError:  # the same person in two windows at once
        raise OpenIDError("Your account was made a moment ago. Log in again.") from None
    return user


def _with_role(user: User, role: Role) -> User:
    if role_of(user) is not role:
        people.set_role(None, user, role)
    return user


def _name(provider: OpenIDSettings, claims: Claims) -> str:
    """What the new account is called; an address that the provider has not seen confirmed could be anybody's."""
    name = claim(claims, provider.username_claim)
    if not isinstance(name, str) or not name:
        raise OpenIDError(
            f"{provider.name} does not say your name ({provider.username_claim}). An administrator can have it asked "
            "for more with OIDC_SCOPES, or set OIDC_USERNAME_CLAIM to something that it says."
        )
    if provider.username_claim == "email" and claims.get("email_verified") is not True:
        raise OpenIDError(f"{provider.name} has not confirmed your e-mail address. Have it confirmed there first.")
    return name
