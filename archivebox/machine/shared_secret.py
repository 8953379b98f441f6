"""Owns the rows of secrets that all machines of a collection have in common; `config/shared_secrets.py` uses them."""

from django.db import models


class SharedSecret(models.Model):
    """One secret: written once, copied by each machine into its data folder when it joins.

    Read before Django is set up, as the key of the web pages is one of them: so it has no behaviour of its own.
    """

    name = models.CharField(max_length=64, primary_key=True)
    content = models.TextField()
    is_encrypted = models.BooleanField(help_text="with the SECRET_KEY of the environment")

    def __str__(self) -> str:
        return self.name
