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
            name='ScriptView',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('viewer', models.CharField(max_length=64)),
                ('digest', models.CharField(help_text='SHA-256 of the label in its host name', max_length=64, unique=True)),
                ('url', models.TextField(help_text='the recorded page that it begins with')),
                ('expires_at', models.DateTimeField()),
                ('violation_count', models.PositiveIntegerField(default=0, help_text='what its Content-Security-Policy refused')),
                ('snapshot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='core.snapshot')),
            ],
            options={
                'indexes': [models.Index(fields=['viewer', 'id'], name='script_view_viewer')],
            },
        ),
    ]
