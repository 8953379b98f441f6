"""By what a provider knows somebody: the one thing that says whose account it is, never a name or an address."""

from django.contrib.auth.models import User
from django.db import models

from archivebox.base_models.rows import Row


class Identity(Row):
    """An account of an OpenID provider that opens an account here (OpenID Connect Core 1.0, section 5.7)."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=255, help_text="the provider")
    subject = models.CharField(max_length=255, help_text="whom it means, for ever; never another one")

    class Meta:
        verbose_name_plural = "identities"
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="identity_once")]

    def __str__(self) -> str:
        return f"{self.user} at {self.issuer}"

    @classmethod
    def owner(cls, issuer: str, subject: str) -> User | None:
        """Whose account it opens."""
        found = cls.objects.select_related("user__account").filter(issuer=issuer, subject=subject).first()
        return None if found is None else found.user
