"""Owns whether what somebody gave beside a password is right, whichever of the three kinds it is."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from archivebox.accounts import audit
from archivebox.accounts.second_factor.apps import accept_code
from archivebox.accounts.second_factor.passkeys import RelyingParty, accept_passkey
from archivebox.accounts.second_factor.rows import RecoveryCode, accept_recovery_code
from archivebox.base_models.transactions import write_transaction


@dataclass(frozen=True, slots=True)
class FactorAnswer:
    """The code of an app, a recovery code, or what a passkey signed; one of them, the others empty."""

    code: str = ""
    recovery_code: str = ""
    passkey: str = ""

    def accept(self, user: User, party: RelyingParty | None, challenge: bytes) -> bool:
        """Whether it is right; a code that is right is used up."""
        if self.code:
            return accept_code(user, self.code)
        if self.recovery_code:
            return _accept_recovery_code(user, self.recovery_code)
        if self.passkey and party is not None:
            return accept_passkey(party, challenge, self.passkey, user) is not None
        return False


def _accept_recovery_code(user: User, code: str) -> bool:
    with write_transaction():
        if not accept_recovery_code(user, code):
            return False
        left = RecoveryCode.objects.filter(user=user).count()
        audit.record(user, "user.recovery_code_used", user, left=left)
    return True
