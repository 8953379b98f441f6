from django.db import migrations

from archivebox.config.replaced_migrations import replaced_by

# The table is that of Django's own ManyToManyField, which takes no indexes. What begins with the Snapshot is there
# already: the constraint that each tag is on it once. Not in the migration before, which makes these two at its end.
TAGGINGS = (
    ("CREATE INDEX tagging_of_tag ON core_snapshot_tags (tag_id, snapshot_id)", "DROP INDEX tagging_of_tag"),
    (
        "DROP INDEX core_snapshot_tags_tag_id_a82cbe21",
        "CREATE INDEX core_snapshot_tags_tag_id_a82cbe21 ON core_snapshot_tags (tag_id)",
    ),
    (
        "DROP INDEX core_snapshot_tags_snapshot_id_1fc3efeb",
        "CREATE INDEX core_snapshot_tags_snapshot_id_1fc3efeb ON core_snapshot_tags (snapshot_id)",
    ),
)


class Migration(migrations.Migration):

    replaces = replaced_by('core', '0019_tag_indexes')

    dependencies = [
        ('core', '0001_squashed_0018_unchanged_check'),
    ]

    operations = [migrations.RunSQL(forwards, backwards) for forwards, backwards in TAGGINGS]
