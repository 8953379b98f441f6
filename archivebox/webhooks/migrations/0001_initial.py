import archivebox.base_models.rows
import archivebox.webhooks.models
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
            name='Webhook',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('url', models.TextField(max_length=2000)),
                ('label', models.CharField(blank=True, default='', help_text='what it is for', max_length=100)),
                ('events', models.JSONField(default=list)),
                ('query', models.TextField(blank=True, default='', help_text='pages that it is told of; empty: all')),
                ('secret', models.CharField(default=archivebox.webhooks.models.new_secret, max_length=100)),
                ('failures', models.IntegerField(default=0, help_text='tries in a row that failed')),
                ('succeeded_at', models.DateTimeField(blank=True, help_text='when it last took a message', null=True)),
                ('disabled_at', models.DateTimeField(blank=True, help_text='empty: it is on', null=True)),
                ('problem', models.TextField(blank=True, default='', help_text='why it was switched off, where nobody did so')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='Delivery',
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
                ('event', models.CharField(max_length=32)),
                ('object_id', models.UUIDField(blank=True, help_text='what it tells of', null=True)),
                ('body', models.TextField(help_text='JSON, as it is signed and sent')),
                ('tries', models.IntegerField(default=0)),
                ('tried_at', models.DateTimeField(blank=True, null=True)),
                ('took_ms', models.IntegerField(blank=True, help_text='milliseconds until the last try was over', null=True)),
                ('http_status', models.PositiveSmallIntegerField(default=0, help_text='of the last answer; 0: there was none')),
                ('problem', models.TextField(blank=True, default='', help_text='why the last try failed')),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('webhook', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='webhooks.webhook')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'indexes': [models.Index(condition=models.Q(('owner__isnull', True), ('retry_at__isnull', False)), fields=['retry_at'], name='delivery_due'), models.Index(condition=models.Q(('owner__isnull', False)), fields=['owner'], name='delivery_held'), models.Index(fields=['webhook', 'id'], name='delivery_of_webhook')],
            },
        ),
    ]
