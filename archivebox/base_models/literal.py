"""Constants in the statement itself, where SQLite can see them."""

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.sql.compiler import SQLCompiler


class Literal(models.Expression):
    """A word of ours, such as a status, or a number, written into the SQL instead of handed over beside it.

    SQLite takes a partial index only if the statement shows the index's condition; a value handed over beside it is
    not known yet when that is decided, and the whole table is read (https://www.sqlite.org/partialindex.html, 3.1).
    """

    def __init__(self, word: str | int) -> None:
        if isinstance(word, str) and not word.replace("_", "").isalnum():
            raise ValueError(f"not a word: {word!r}")
        super().__init__(output_field=models.CharField() if isinstance(word, str) else models.IntegerField())
        self.sql = f"'{word}'" if isinstance(word, str) else str(word)

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> tuple[str, tuple[str | int, ...]]:
        del compiler, connection
        return self.sql, ()


def one_of(*words: str) -> list[Literal]:
    """For ``status__in``."""
    return [Literal(word) for word in words]
