"""Has the database of a test reject every change of a status that no table of transitions allows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.apps import apps
from django.db import connection, models

from archivebox.base_models.transitions import TabledRow, Transition
from archivebox.base_models.work import WorkItem, transition_table

PAUSE = "status_triggers_paused"
"""A table of the test database: while a row is in it, which nobody else sees, every change is allowed."""


def tables() -> dict[type[models.Model], list[Transition]]:
    """The transitions of every model that has a table of them."""
    found: dict[type[models.Model], list[Transition]] = {}
    for model in apps.get_models():
        if issubclass(model, WorkItem):
            found[model] = list(transition_table(model.state_machine_name).values())
        elif issubclass(model, TabledRow):
            found[model] = list(model.life.transitions().values())
    return found


def install() -> None:
    """Make the triggers, one for each table."""
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {PAUSE} (on_purpose INTEGER)")
        for model, transitions in tables().items():
            name = model._meta.db_table
            changes = sorted({(source, line.target) for line in transitions for source in line.sources})
            allowed = ", ".join(f"'{source}>{target}'" for source, target in changes)
            refused = (
                f"OLD.status <> NEW.status AND (OLD.status || '>' || NEW.status) NOT IN ({allowed})"
                f" AND NOT EXISTS (SELECT 1 FROM {PAUSE})"
            )
            for statement in _STATEMENTS[connection.vendor]:
                cursor.execute(statement.format(table=name, refused=refused))


_STATEMENTS = {
    "sqlite": [
        (
            "CREATE TRIGGER IF NOT EXISTS status_of_{table} BEFORE UPDATE OF status ON {table} WHEN {refused}"
            " BEGIN SELECT RAISE(ABORT, 'no transition of {table} leads there'); END"
        )
    ],
    "postgresql": [
        (
            "CREATE OR REPLACE FUNCTION status_of_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " IF {refused} THEN RAISE EXCEPTION 'no transition of {table} leads from % to %', OLD.status, NEW.status"
            " USING ERRCODE = 'check_violation'; END IF; RETURN NEW; END $$"
        ),
        (
            "CREATE OR REPLACE TRIGGER status_of_{table} BEFORE UPDATE OF status ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION status_of_{table}()"
        ),
    ],
}


@contextmanager
def paused() -> Iterator[None]:
    """Allow every change in here."""
    if PAUSE not in connection.introspection.table_names():
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {PAUSE} VALUES (1)")
        try:
            yield
        finally:
            cursor.execute(f"DELETE FROM {PAUSE}")


def arrange(rows: models.QuerySet[models.Model, models.Model], **columns: object) -> int:
    """Put rows into the state that a test begins with, whatever they were before; returns how many."""
    with paused():
        return rows.update(**columns)
