import archivebox.base_models.rows
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),  # whose changes render what refers to users
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Account',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('role', models.CharField(choices=[('editor', 'editor'), ('viewer', 'viewer')], default='viewer', max_length=16)),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='account', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('username', models.CharField(blank=True, default='', help_text='empty: somebody without a log-in', max_length=150)),
                ('token', models.CharField(blank=True, default='', help_text='label of the token that was used', max_length=100)),
                ('action', models.CharField(help_text='what happened to what, such as user.disabled', max_length=64)),
                ('object_id', models.CharField(blank=True, default='', max_length=64)),
                ('detail', models.JSONField(blank=True, default=dict)),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('address', models.CharField(blank=True, default='', help_text='empty: from the command line', max_length=60)),
            ],
            options={
                'verbose_name_plural': 'audit entries',
            },
        ),
        migrations.CreateModel(
            name='Token',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('label', models.CharField(help_text='what it is for', max_length=100)),
                ('scopes', models.JSONField(default=list, help_text='names of scopes: feed, read, add, write, admin')),
                ('digest', models.CharField(help_text='SHA-256 of the token', max_length=64, unique=True)),
                ('hint', models.CharField(help_text='its first letters, by which its owner knows it', max_length=16)),
                ('expires_at', models.DateTimeField(blank=True, help_text='empty: never', null=True)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tokens', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='Answer',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('name', models.CharField(help_text='SHA-256 of who asked for what, with which key', max_length=64, unique=True)),
                ('fingerprint', models.CharField(help_text="SHA-256 of the request's body", max_length=64)),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('content_type', models.CharField(blank=True, default='', max_length=100)),
                ('body', models.TextField(blank=True, default='')),
            ],
        ),
        migrations.CreateModel(
            name='Identity',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('issuer', models.CharField(help_text='the provider', max_length=255)),
                ('subject', models.CharField(help_text='whom it means, for ever; never another one', max_length=255)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='identities', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'identities',
                'constraints': [models.UniqueConstraint(fields=('issuer', 'subject'), name='identity_once')],
            },
        ),
        migrations.CreateModel(
            name='SpentChallenge',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('digest', models.CharField(max_length=64, unique=True)),
            ],
        ),
        migrations.CreateModel(
            name='AuthenticatorApp',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('label', models.CharField(help_text='by which its owner knows it', max_length=100)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('secret', models.TextField(help_text='what the app knows, encrypted with a key that is not in the database')),
                ('last_step', models.BigIntegerField(default=0, help_text='time step of the latest code that was accepted')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='authenticator_apps', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Passkey',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('label', models.CharField(help_text='by which its owner knows it', max_length=100)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('credential_id', models.TextField(help_text='base64url, as browsers say it', unique=True)),
                ('public_key', models.TextField(help_text='attested credential data (WebAuthn, section 6.5.1), base64url')),
                ('host', models.CharField(help_text='under which it works: the relying party ID', max_length=253)),
                ('sign_count', models.BigIntegerField(default=0, help_text='signatures that it has counted; 0: it counts none')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='passkeys', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='RecoveryCode',
            fields=[
                ('id', models.UUIDField(default=archivebox.base_models.rows.new_id, editable=False, primary_key=True, serialize=False)),
                ('modified_at', models.DateTimeField(auto_now=True)),
                ('digest', models.CharField(help_text='SHA-256 of the code: 80 random bits need no slow hash', max_length=64)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='recovery_codes', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='LoginLink',
            fields=[
                ('digest', models.CharField(help_text='SHA-256 of the token', max_length=64, primary_key=True, serialize=False)),
                ('expires_at', models.DateTimeField(db_index=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='login_links', to=settings.AUTH_USER_MODEL)),
            ],
        ),
    ]
