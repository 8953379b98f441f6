
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='snapshot',
            name='final_url',
            field=models.TextField(blank=True, default='', help_text='where redirects led to; empty until a hook has told'),
        ),
        migrations.AddField(
            model_name='snapshot',
            name='http_status',
            field=models.PositiveSmallIntegerField(default=0, help_text='of the last answer (RFC 9110, 15); 0: none'),
        ),
        migrations.AddField(
            model_name='snapshot',
            name='mime_type',
            field=models.CharField(blank=True, default='', help_text='without parameters, lower case', max_length=255),
        ),
    ]
