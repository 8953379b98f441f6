from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("machine", "0003_process_lists")]

    operations = [
        migrations.AddField(
            model_name="process",
            name="commit_number",
            field=models.BigIntegerField(
                blank=True, help_text="of a worker's last commit, on PostgreSQL: a failover may lose some", null=True
            ),
        ),
    ]
