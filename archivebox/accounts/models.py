"""Imports the models of accounts, so that Django finds them."""

from archivebox.accounts.answers import Answer
from archivebox.accounts.audit import AuditEntry
from archivebox.accounts.identity import Identity
from archivebox.accounts.login_links import LoginLink
from archivebox.accounts.roles import Account
from archivebox.accounts.second_factor.rows import AuthenticatorApp, Passkey, RecoveryCode, SpentChallenge
from archivebox.accounts.tokens import Token

__all__ = [
    "Account",
    "Answer",
    "AuditEntry",
    "AuthenticatorApp",
    "Identity",
    "LoginLink",
    "Passkey",
    "RecoveryCode",
    "SpentChallenge",
    "Token",
]
