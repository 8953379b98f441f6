from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0017_measured_replay'),
    ]

    operations = [
        migrations.RenameModel(
            old_name='Look',
            new_name='UnchangedCheck',
        ),
    ]
