from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("machine", "0004_process_commit_number")]

    operations = [
        migrations.AddField(
            model_name="machine",
            name="version",
            field=models.CharField(default="", help_text="of ArchiveBox", max_length=32),
        ),
        migrations.AddField(
            model_name="machine",
            name="load",
            field=models.FloatField(
                blank=True, help_text="processes that wanted to run in the minute before that", null=True
            ),
        ),
        migrations.AddField(
            model_name="machine",
            name="drain_by",
            field=models.DateTimeField(
                blank=True, help_text="nothing new begins here, and what still runs then is given back", null=True
            ),
        ),
    ]
