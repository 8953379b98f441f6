import archivebox.base_models.rows
import django.db.models.deletion
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
            name='Machine',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('hostname', models.CharField(default='', max_length=255)),
                ('os_family', models.CharField(default='', max_length=32)),
                ('os_platform', models.CharField(default='', max_length=128)),
                ('os_kernel', models.CharField(default='', max_length=128)),
                ('arch', models.CharField(default='', max_length=32)),
                ('cpu_count', models.IntegerField(default=1)),
                ('memory_bytes', models.BigIntegerField(default=0)),
                ('in_container', models.BooleanField(default=False)),
                ('config', models.JSONField(blank=True, default=dict, help_text='settings of this machine')),
                ('seen_at', models.DateTimeField(default=django.utils.timezone.now, help_text='last beat of its orchestrator')),
                ('version', models.CharField(default='', help_text='of ArchiveBox', max_length=32)),
                ('load', models.FloatField(blank=True, help_text='processes that wanted to run in the minute before that', null=True)),
                ('drain_by', models.DateTimeField(blank=True, help_text='nothing new begins here, and what still runs then is given back', null=True)),
                ('removed_at', models.DateTimeField(blank=True, help_text='left out of lists until it works again', null=True)),
                ('plugins', models.JSONField(blank=True, default=dict, help_text='digests by name, where machines share a database')),
            ],
        ),
        migrations.CreateModel(
            name='NetworkInterface',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('iface', models.CharField(default='', max_length=32)),
                ('mac_address', models.CharField(default='', max_length=32)),
                ('ip_local', models.GenericIPAddressField(blank=True, null=True)),
                ('ip_public', models.GenericIPAddressField(blank=True, null=True)),
                ('hostname', models.CharField(default='', max_length=255)),
                ('machine', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='machine.machine')),
            ],
        ),
        migrations.CreateModel(
            name='Binary',
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
                ('name', models.CharField(max_length=128)),
                ('binproviders', models.CharField(default='env', help_text='in the order they are asked', max_length=255)),
                ('overrides', models.JSONField(blank=True, default=dict, help_text="merged into a provider's call, by provider")),
                ('binprovider', models.CharField(blank=True, default='', help_text='who had it', max_length=32)),
                ('abspath', models.CharField(blank=True, default='', max_length=512)),
                ('version', models.CharField(blank=True, default='', max_length=64)),
                ('sha256', models.CharField(blank=True, default='', max_length=64)),
                ('message', models.TextField(blank=True, default='', help_text='why it is missing, and how to get it')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('machine', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='machine.machine')),
            ],
            options={
                'verbose_name_plural': 'binaries',
                'constraints': [models.UniqueConstraint(fields=('machine', 'name'), name='binary_once_per_machine')],
            },
        ),
        migrations.CreateModel(
            name='Process',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('process_type', models.CharField(choices=[('cli', 'CLI command'), ('supervisord', 'Supervisord'), ('orchestrator', 'Orchestrator'), ('worker', 'Worker'), ('hook', 'Hook'), ('binary', 'Binary')], db_index=True, default='binary', max_length=16)),
                ('worker_type', models.CharField(blank=True, default='', help_text='worker, web or forkserver', max_length=16)),
                ('status', models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('exited', 'exited')], default='queued', max_length=16)),
                ('plugin', models.CharField(blank=True, default='', max_length=64)),
                ('hook_name', models.CharField(blank=True, default='', max_length=128)),
                ('cmd', models.JSONField(default=list)),
                ('pwd', models.CharField(blank=True, default='', max_length=512)),
                ('env', models.JSONField(blank=True, default=list, help_text='names of what was set for it; never values')),
                ('timeout', models.IntegerField(blank=True, help_text='seconds', null=True)),
                ('boot_id', models.CharField(blank=True, default='', max_length=36)),
                ('pid_ns', models.BigIntegerField(blank=True, null=True)),
                ('pid', models.IntegerField(blank=True, null=True)),
                ('start_ticks', models.BigIntegerField(blank=True, null=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('exit_code', models.IntegerField(blank=True, help_text='what wait reported: -N for signal N', null=True)),
                ('end_reason', models.CharField(blank=True, choices=[('exited', 'exited'), ('signalled', 'signalled'), ('timeout', 'timeout'), ('sealed', 'sealed'), ('cancelled', 'cancelled'), ('lost', 'lost')], default='', max_length=16)),
                ('user_seconds', models.FloatField(blank=True, null=True)),
                ('system_seconds', models.FloatField(blank=True, null=True)),
                ('max_rss', models.BigIntegerField(blank=True, help_text='bytes', null=True)),
                ('stdout', models.TextField(blank=True, default='', help_text='the last 2 KB')),
                ('stderr', models.TextField(blank=True, default='', help_text='the last 2 KB')),
                ('stdout_size', models.BigIntegerField(default=0)),
                ('stderr_size', models.BigIntegerField(default=0)),
                ('output_cut', models.BooleanField(default=False, help_text='whether output beyond the cap was let go')),
                ('stdout_offset', models.BigIntegerField(default=0, help_text='bytes whose records are in the database')),
                ('crawl_id', models.UUIDField(blank=True, null=True)),
                ('snapshot_id', models.UUIDField(blank=True, null=True)),
                ('archiveresult_id', models.UUIDField(blank=True, null=True)),
                ('binary_id', models.UUIDField(blank=True, null=True)),
                ('request', models.CharField(blank=True, choices=[('', 'none'), ('pause', 'pause'), ('cancel', 'cancel'), ('kill', 'kill')], default='', max_length=8)),
                ('machine', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='machine.machine')),
                ('parent', models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='children', to='machine.process')),
                ('declared', models.JSONField(blank=True, help_text='what a hook said of its own result up to there', null=True)),
            ],
            options={
                'verbose_name_plural': 'processes',
                'indexes': [models.Index(fields=['parent', 'status'], name='process_parent_status'), models.Index(condition=models.Q(('status', 'running')), fields=['machine', 'pid'], name='process_running'), models.Index(condition=models.Q(('request', ''), _negated=True), fields=['machine'], name='process_request'), models.Index(condition=models.Q(('snapshot_id__isnull', False)), fields=['snapshot_id'], name='process_snapshot'), models.Index(fields=['parent', 'id'], name='process_of_parent'), models.Index(condition=models.Q(('crawl_id__isnull', False)), fields=['crawl_id', 'id'], name='process_of_crawl')],
            },
        ),
        migrations.CreateModel(
            name='PeriodicTask',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('name', models.CharField(max_length=64, unique=True)),
                ('next_at', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name='SharedSecret',
            fields=[
                ('name', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('content', models.TextField()),
                ('is_encrypted', models.BooleanField(help_text='with the SECRET_KEY of the environment')),
            ],
        ),
        migrations.CreateModel(
            name='AttemptCount',
            fields=[
                ('key', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('attempts', models.JSONField(default=list, help_text="seconds since 1970 by the database's clock")),
                ('expires_at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name='FleetSetting',
            fields=[
                ('name', models.CharField(max_length=255, primary_key=True, serialize=False)),
                ('content', models.TextField(blank=True)),
                ('is_encrypted', models.BooleanField(default=False, help_text='with the SECRET_KEY of the environment')),
            ],
        ),
    ]
