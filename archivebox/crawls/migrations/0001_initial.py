import archivebox.base_models.rows
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('machine', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='CrawlSchedule',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('schedule', models.CharField(help_text='cron expression, length of time, or daily, weekly, monthly', max_length=64)),
                ('label', models.CharField(blank=True, default='', max_length=255)),
                ('template', models.JSONField(default=dict, help_text='urls, depth, tags and settings of the crawls it makes')),
                ('next_at', models.DateTimeField(blank=True, help_text='empty: it is paused', null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('catch_up', models.CharField(choices=[('once', 'after downtime, run once'), ('skip', 'leave them out')], default='once', max_length=8)),
                ('is_waiting', models.BooleanField(default=False, help_text='its time has come while its last crawl runs')),
                ('overlap', models.CharField(choices=[('wait', 'wait until it has ended'), ('skip', 'skip this run')], default='wait', max_length=8)),
                ('recapture', models.BooleanField(default=False, help_text='links that one of its crawls has archived, too')),
                ('skipped_at', models.DateTimeField(blank=True, help_text='the last time that was left out', null=True)),
                ('skipped_for', models.CharField(blank=True, choices=[('overlap', 'its last crawl still ran'), ('missed', 'nothing was running here at that time'), ('broken', 'its time could not be understood, so it was paused'), ('settings', 'a setting could not be understood'), ('disabled', 'the account that it belongs to was disabled, so it was paused')], default='', max_length=8)),
                ('timezone', models.CharField(default='UTC', help_text='by whose clocks', max_length=64)),
                ('visibility', models.CharField(choices=[('public', 'public'), ('members', 'members'), ('private', 'private')], default='members', max_length=8)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('next_at__isnull', False)), fields=['next_at'], name='schedule_due')],
                'verbose_name': 'schedule',
            },
        ),
        migrations.CreateModel(
            name='Crawl',
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
                ('label', models.CharField(blank=True, default='', max_length=255)),
                ('urls', models.TextField(blank=True, default='', help_text='what was asked for, one URL a line (the first 64 KB)')),
                ('source', models.CharField(blank=True, default='', help_text='file in sources/ with all that was given', max_length=512)),
                ('max_depth', models.IntegerField(default=0)),
                ('tags_str', models.CharField(blank=True, default='', max_length=1024)),
                ('persona', models.CharField(blank=True, default='', max_length=64)),
                ('config', models.JSONField(blank=True, default=dict)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('schedule', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, to='crawls.crawlschedule')),
                ('replaces', models.BooleanField(default=False, help_text="a URL's older versions go once its new one is archived")),
                ('visibility', models.CharField(choices=[('public', 'public'), ('members', 'members'), ('private', 'private')], default='members', max_length=8)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('owner__isnull', True), ('retry_at__isnull', False)), fields=['retry_at'], name='crawl_due'), models.Index(condition=models.Q(('status__in', ['queued', 'started'])), fields=['id'], name='crawl_open')],
            },
        ),
        migrations.CreateModel(
            name='Domain',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('name', models.CharField(max_length=255, unique=True)),
                ('next_at', models.DateTimeField(blank=True, help_text='no request before this moment', null=True)),
                ('delay', models.FloatField(default=0.0, help_text='seconds between two pages')),
                ('max_parallel', models.IntegerField(default=0, help_text='pages at once; 0: no limit of its own')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('next_at__isnull', False)), fields=['next_at'], name='domain_blocked')],
            },
        ),
        migrations.CreateModel(
            name='CrawlRun',
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
                ('ready_at', models.DateTimeField(blank=True, help_text='when Snapshots may run; empty while it is not up', null=True)),
                ('crawl', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='crawls.crawl')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('machine', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='machine.machine')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('crawl', 'machine'), name='crawlrun_once_per_machine')],
                'indexes': [models.Index(condition=models.Q(('owner__isnull', True), ('retry_at__isnull', False)), fields=['machine', 'retry_at'], name='crawlrun_due'), models.Index(condition=models.Q(('owner__isnull', False)), fields=['owner'], name='crawlrun_held'), models.Index(condition=models.Q(('status__in', ['queued', 'started'])), fields=['machine'], name='crawlrun_open')],
            },
        ),
        migrations.CreateModel(
            name='AddPreset',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('name', models.CharField(max_length=64)),
                ('choices', models.JSONField(default=dict, help_text='fields of the form, by name')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('created_by', 'name'), name='preset_once_per_person')],
            },
        ),
        migrations.CreateModel(
            name='Refused',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('code', models.CharField(help_text='reason code', max_length=64)),
                ('count', models.BigIntegerField(default=0)),
                ('sample', models.JSONField(default=list, help_text='those of the first page that had any')),
                ('crawl', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='crawls.crawl')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('crawl', 'code'), name='refused_once_per_reason')],
            },
        ),
    ]
