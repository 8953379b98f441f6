import archivebox.base_models.rows
import django.db.models.deletion
import django.db.models.fields.json
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Job',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('status', models.CharField(default='queued', max_length=16)),
                ('retry_at', models.DateTimeField(blank=True, default=django.utils.timezone.now, null=True)),
                ('owner', models.UUIDField(blank=True, help_text='Process row of the worker that holds the lease', null=True)),
                ('fence', models.IntegerField(default=0, help_text='grows with every lease; checked on every write of a result')),
                ('attempts', models.IntegerField(default=0)),
                ('request', models.CharField(blank=True, choices=[('', 'none'), ('pause', 'pause'), ('cancel', 'cancel'), ('kill', 'kill')], default='', max_length=8)),
                ('reason', models.CharField(blank=True, default='', help_text='reason code of the present status', max_length=128)),
                ('output_dir', models.CharField(blank=True, default='', help_text='relative to the data folder', max_length=512)),
                ('kind', models.CharField(choices=[('tag', 'Add tags'), ('untag', 'Take tags off'), ('retry', 'Try again'), ('recapture', 'Capture again'), ('remove', 'Remove'), ('restore', 'Bring back'), ('export', 'Export'), ('verify', 'Verify files'), ('sign', 'Sign'), ('compare', 'Measure replay'), ('measure', 'Check replay quality'), ('visibility', 'Change who sees it'), ('purge', 'Delete files of what was removed'), ('import', 'Import'), ('import_pages', 'Import archived pages'), ('inspect', 'Inspect before import')], max_length=16)),
                ('query', models.TextField(blank=True, default='', help_text='which Snapshots; unless their keys were given')),
                ('options', models.JSONField(blank=True, default=dict, help_text='what this kind needs to know')),
                ('memory', models.JSONField(blank=True, default=dict, help_text='what it has to know from one part to the next')),
                ('total', models.IntegerField(blank=True, help_text='Snapshots; empty until all are known', null=True)),
                ('position', models.IntegerField(default=0, help_text='number of the next part')),
                ('done', models.IntegerField(default=0)),
                ('failed', models.IntegerField(default=0)),
                ('problem', models.TextField(blank=True, default='', help_text='why it ended before all was done')),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('owner__isnull', True), ('retry_at__isnull', False)), fields=['retry_at'], name='job_due'), models.Index(condition=models.Q(('status__in', ['queued', 'started'])), fields=['id'], name='job_open'), models.Index(condition=models.Q(('kind', 'import')), fields=['id'], name='job_import'), models.Index(condition=models.Q(('kind', 'import')), fields=['created_by', 'id'], name='job_own_import'), models.Index(fields=['created_by', 'id'], name='job_own')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('kind', 'measure'), ('status__in', ['queued', 'started', 'paused'])), fields=('kind',), name='one_job_measures'), models.UniqueConstraint(django.db.models.fields.json.KeyTextTransform('source', 'memory'), condition=models.Q(('kind', 'import_pages'), ('status__in', ['queued', 'started', 'paused'])), name='source_imported_once')],
            },
        ),
        migrations.CreateModel(
            name='JobFailure',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('snapshot_id', models.UUIDField()),
                ('sentence', models.TextField()),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='jobs.job')),
            ],
            options={
                'indexes': [models.Index(fields=['job', 'id'], name='failure_of_job')],
                'constraints': [models.UniqueConstraint(fields=('job', 'snapshot_id'), name='failure_once_per_job')],
            },
        ),
        migrations.CreateModel(
            name='JobPart',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('number', models.IntegerField()),
                ('keys_packed', models.BinaryField(help_text='their keys, 16 bytes each')),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='jobs.job')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('job', 'number'), name='part_once_per_job')],
            },
        ),
    ]
