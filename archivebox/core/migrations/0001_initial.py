import archivebox.base_models.rows
import archivebox.core.snapshot
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('crawls', '0001_initial'),
        ('machine', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Tag',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('name', models.CharField(max_length=100)),
                ('slug', models.SlugField(allow_unicode=True, max_length=100, unique=True)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Snapshot',
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
                ('url', models.TextField(max_length=8000)),
                ('domain', models.CharField(help_text='host and port as in the path, e.g. example.com or 127.0.0.1_8000', max_length=255)),
                ('depth', models.IntegerField(default=0)),
                ('may_be_private', models.BooleanField(default=False, help_text='given by who may name private places: written by the intake alone')),
                ('title', models.CharField(blank=True, default='', max_length=512)),
                ('config', models.JSONField(blank=True, default=dict)),
                ('current_step', models.IntegerField(default=0)),
                ('finishing', models.BooleanField(default=False, help_text='past step 9: only finite background hooks still run')),
                ('sealed_at', models.DateTimeField(blank=True, null=True)),
                ('retired_at', models.DateTimeField(blank=True, help_text='removed or replaced; undone until retention', null=True)),
                ('crawl', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='crawls.crawl')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('parent_snapshot', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='outlinks', to='core.snapshot')),
                ('final_url', models.TextField(blank=True, default='', help_text='where redirects led to; empty until a hook has told')),
                ('http_status', models.PositiveSmallIntegerField(default=0, help_text='of the last answer (RFC 9110, 15); 0: none')),
                ('mime_type', models.CharField(blank=True, default='', help_text='without parameters, lower case', max_length=255)),
                ('visibility', models.CharField(choices=[('public', 'public'), ('members', 'members'), ('private', 'private')], default='members', max_length=8)),
                ('bookmarked_at', models.DateTimeField(blank=True, help_text='kept, published or changed then, as the list says that named it', null=True)),
                ('quality', models.PositiveSmallIntegerField(blank=True, help_text='percent of the page that its replay shows without scripts; null: not measured', null=True)),
                ('size', models.BigIntegerField(default=0, help_text='bytes that its results have kept, as of its last seal')),
                ('is_lossy', models.BooleanField(blank=True, help_text='true: worth capturing again; null: not known to be', null=True)),
                ('measured_at', models.DateTimeField(blank=True, help_text='when its replay was measured as it was sealed last; null: not yet', null=True)),
                ('measures', models.JSONField(blank=True, help_text='what the quality was made from, for people', null=True)),
                ('quality_with_scripts', models.PositiveSmallIntegerField(blank=True, help_text='percent of the page that its replay shows with scripts; null: not measured', null=True)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('owner__isnull', True), ('retry_at__isnull', False)), fields=['crawl', 'domain', 'retry_at'], name='snapshot_due'), models.Index(condition=models.Q(('owner__isnull', False)), fields=['owner', 'domain'], name='snapshot_held'), models.Index(condition=models.Q(('status__in', ['queued', 'started', 'paused'])), fields=['crawl'], name='snapshot_open'), django.contrib.postgres.indexes.HashIndex(fields=['url'], name='snapshot_url'), models.Index(condition=models.Q(('retired_at__isnull', False)), fields=['retired_at'], name='snapshot_retired'), models.Index(condition=models.Q(('owner__isnull', True), ('retry_at__isnull', False)), fields=['crawl', 'retry_at', 'id'], name='snapshot_wanted'), models.Index(condition=models.Q(('sealed_at__isnull', False)), fields=['crawl', 'sealed_at'], name='snapshot_done'), models.Index(condition=models.Q(('retired_at__isnull', True)), fields=['domain', 'id', 'visibility', 'created_by'], name='snapshot_of_host'), models.Index(condition=models.Q(('retired_at__isnull', True)), fields=['mime_type', 'id', 'visibility', 'created_by'], name='snapshot_of_type'), models.Index(condition=models.Q(('quality__isnull', False)), fields=['quality', 'id', 'visibility', 'created_by'], name='snapshot_of_quality'), models.Index(condition=models.Q(('retired_at__isnull', True), models.Q(models.Q(('status', 'cancelled'), _negated=True), ('fence__gt', 0), _connector='OR')), fields=['id', 'visibility', 'created_by', 'depth'], name='snapshot_in_library'), models.Index(condition=models.Q(('visibility', 'private')), fields=['id', 'visibility', 'created_by'], name='snapshot_private'), models.Index(condition=models.Q(('retired_at__isnull', False)), fields=['id'], name='snapshot_removed'), models.Index(condition=models.Q(('retired_at__isnull', True)), fields=['crawl', 'id', 'visibility', 'created_by'], name='snapshot_of_crawl'), models.Index(condition=models.Q(('retired_at__isnull', True), ('visibility', 'public')), fields=['id', 'status', 'fence'], name='snapshot_public'), models.Index(condition=models.Q(('retired_at__isnull', True), ('status__in', ['queued', 'started', 'paused'])), fields=['id', 'status', 'visibility', 'created_by'], name='snapshot_unsealed'), models.Index(condition=models.Q(('retired_at__isnull', True)), fields=['crawl', 'status', 'id', 'fence', 'visibility', 'created_by'], name='snapshot_state'), models.Index(condition=models.Q(('retired_at__isnull', True), models.Q(models.Q(('status', 'cancelled'), _negated=True), ('fence__gt', 0), _connector='OR'), ('depth', 0)), fields=['id', 'visibility', 'created_by'], name='snapshot_seed'), models.Index(condition=models.Q(('retired_at__isnull', True), ('status', 'cancelled')), fields=['id', 'status', 'fence', 'visibility', 'created_by'], name='snapshot_cancelled'), models.Index(condition=models.Q(('http_status__gte', 300)), fields=['http_status', 'id', 'visibility', 'created_by'], name='snapshot_not_ok'), models.Index(condition=models.Q(('retired_at__isnull', True)), fields=['size', 'id', 'visibility', 'created_by'], name='snapshot_of_size'), models.Index(django.db.models.functions.text.Lower(django.db.models.functions.comparison.Coalesce(models.Func('title', template="NULLIF(%(expressions)s, '')"), models.Func('url', template="SUBSTR(REPLACE(REPLACE(%(expressions)s, 'https://', ''), 'http://', ''), 1, 512)"), output_field=models.TextField())), models.F('id'), models.F('visibility'), models.F('created_by'), condition=models.Q(('retired_at__isnull', True)), name='snapshot_of_title'), models.Index(condition=models.Q(('is_lossy', True)), fields=['id', 'visibility', 'created_by'], name='snapshot_lossy'), models.Index(condition=models.Q(('measured_at__isnull', True), ('retired_at__isnull', True), ('status', 'sealed')), fields=['id'], name='snapshot_to_measure')],
                'constraints': [models.UniqueConstraint(models.F('crawl'), archivebox.core.snapshot.UrlKey('url'), name='snapshot_url_once_per_crawl')],
            },
        ),
        migrations.CreateModel(
            name='Tagging',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('snapshot', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='core.snapshot')),
                ('tag', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='core.tag')),
            ],
            options={
                'db_table': 'core_snapshot_tags',
                'default_permissions': (),
                'indexes': [models.Index(fields=['tag', 'snapshot'], name='tagging_of_tag')],
                'unique_together': {('snapshot', 'tag')},
            },
        ),
        migrations.AddField(
            model_name='snapshot',
            name='tags',
            field=models.ManyToManyField(blank=True, related_name='snapshot_set', through='core.Tagging', to='core.tag'),
        ),
        migrations.CreateModel(
            name='ArchiveResult',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('plugin', models.CharField(max_length=64)),
                ('hook_name', models.CharField(blank=True, help_text='empty: an imported row', max_length=128, null=True)),
                ('status', models.CharField(choices=[('queued', 'queued'), ('started', 'started'), ('backoff', 'waits for its retry'), ('succeeded', 'succeeded'), ('noresults', 'no results'), ('failed', 'failed'), ('skipped', 'skipped')], default='queued', max_length=16)),
                ('retry_at', models.DateTimeField(blank=True, null=True)),
                ('attempts', models.IntegerField(default=0, help_text='runs that ended by themselves or by time-out')),
                ('reason', models.CharField(blank=True, default='', max_length=128)),
                ('pwd', models.CharField(blank=True, default='', max_length=512)),
                ('start_ts', models.DateTimeField(blank=True, null=True)),
                ('end_ts', models.DateTimeField(blank=True, null=True)),
                ('output_str', models.TextField(blank=True, default='')),
                ('output_json', models.JSONField(blank=True, null=True)),
                ('output_files', models.JSONField(blank=True, default=dict, help_text='path → {size, mimetype}')),
                ('output_size', models.BigIntegerField(default=0, help_text='bytes')),
                ('output_mimetypes', models.CharField(blank=True, default='', max_length=512)),
                ('iface', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to='machine.networkinterface')),
                ('process', models.ForeignKey(blank=True, db_constraint=False, help_text="the hook's Process of the latest attempt", null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='machine.process')),
                ('snapshot', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='core.snapshot')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('status', 'backoff')), fields=['retry_at'], name='result_backoff'), models.Index(condition=models.Q(('reason', ''), _negated=True), fields=['reason'], name='result_reason'), models.Index(condition=models.Q(('status__in', ['queued', 'started'])), fields=['status'], name='result_open'), models.Index(condition=models.Q(('status', 'failed')), fields=['reason', 'plugin', 'snapshot'], name='result_failed_for'), models.Index(condition=models.Q(('status', 'failed')), fields=['plugin', 'snapshot'], name='result_failed_in'), models.Index(condition=models.Q(('status', 'succeeded')), fields=['plugin', 'snapshot'], name='result_kept_by'), models.Index(condition=models.Q(('status', 'failed')), fields=['snapshot'], name='result_failed_of')],
                'constraints': [models.UniqueConstraint(fields=('snapshot', 'plugin', 'hook_name'), name='result_once_per_hook')],
            },
        ),
        migrations.CreateModel(
            name='Note',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('text', models.TextField(max_length=10000)),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('snapshot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='note_set', to='core.snapshot')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='UnchangedCheck',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('instead', models.UUIDField(help_text='the Snapshot that was not kept for it', unique=True)),
                ('crawl', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='look_set', to='crawls.crawl')),
                ('snapshot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='look_set', to='core.snapshot')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='StoredObject',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('key', models.CharField(max_length=400, unique=True)),
                ('size', models.BigIntegerField(default=0)),
                ('sha256', models.CharField(default='', help_text='of all its bytes', max_length=64)),
                ('directory', models.CharField(default='', help_text='SHA-256 of its list of files and their hashes', max_length=64)),
                ('snapshot', models.UUIDField(help_text='the page whose files it has; null: it says whose store it is', null=True)),
                ('machine', models.UUIDField(help_text='which has uploaded it, or does', null=True)),
                ('upload', models.CharField(default='', help_text="the store's id of an upload that can be resumed", max_length=400)),
                ('stored_at', models.DateTimeField(help_text='null: it is being uploaded, or that was cut short', null=True)),
                ('unused_at', models.DateTimeField(help_text='since when nothing needs it; it is deleted after a grace', null=True)),
                ('is_deleted', models.BooleanField(default=False, help_text='its deletion from the store has begun')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('snapshot__isnull', False)), fields=['snapshot'], name='stored_object_snapshot'), models.Index(condition=models.Q(('unused_at__isnull', False)), fields=['unused_at'], name='stored_object_unused'), models.Index(condition=models.Q(('stored_at__isnull', True)), fields=['id'], name='stored_object_uploading')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('snapshot__isnull', False), ('stored_at__isnull', False), ('unused_at__isnull', True)), fields=('snapshot',), name='stored_object_of_page')],
            },
        ),
    ]
