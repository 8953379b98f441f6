from __future__ import annotations

import pytest
from django.db import connection, migrations, models
from django.db.migrations.state import ProjectState
from django.db.migrations.writer import MigrationWriter

from archivebox.base_models.create_models import CreateModels

TABLES = {"orchard_tree", "orchard_fruit"}


def creations() -> list[migrations.CreateModel]:
    tree = models.ForeignKey("orchard.tree", models.CASCADE)
    return [
        migrations.CreateModel("Tree", [("id", models.AutoField(primary_key=True))]),
        migrations.CreateModel("Fruit", [("id", models.AutoField(primary_key=True)), ("tree", tree)]),
    ]


class OfOrchards(migrations.Migration):
    operations = [CreateModels(creations())]


def test_the_state_is_that_of_one_operation_a_model() -> None:
    together, one_by_one = ProjectState(), ProjectState()
    assert together.apps is not None
    CreateModels(creations()).state_forwards("orchard", together)
    for creation in creations():
        creation.state_forwards("orchard", one_by_one)
    assert together == one_by_one
    assert len(together.apps.get_models()) == 2


@pytest.mark.usefixtures("transactional_db")
def test_tables_are_made_and_unmade() -> None:
    operation, before, after = CreateModels(creations()), ProjectState(), ProjectState()
    operation.state_forwards("orchard", after)
    with connection.schema_editor() as editor:
        operation.database_forwards("orchard", editor, before, after)
    assert set(connection.introspection.table_names()) >= TABLES
    with connection.schema_editor() as editor:
        operation.database_backwards("orchard", editor, after, before)
    assert TABLES.isdisjoint(connection.introspection.table_names())


def test_django_writes_it_into_a_migration() -> None:
    written = MigrationWriter(OfOrchards("0001_initial", "orchard")).as_string()
    assert "import archivebox.base_models.create_models" in written
    assert "name='Fruit'" in written
