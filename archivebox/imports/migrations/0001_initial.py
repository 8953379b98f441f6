import archivebox.base_models.rows
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('core', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='ImportedSnapshot',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('source', models.CharField(help_text='what names the source, wherever it lies', max_length=512)),
                ('key', models.CharField(help_text='what names the page in it', max_length=512)),
                ('former_id', models.UUIDField(db_index=True, help_text='its key in an earlier ArchiveBox', null=True)),
                ('snapshot', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='imported_from', to='core.snapshot')),
            ],
            options={
                'indexes': [models.Index(fields=['key'], name='imported_key')],
                'constraints': [models.UniqueConstraint(fields=('source', 'key'), name='imported_once')],
            },
        ),
    ]
