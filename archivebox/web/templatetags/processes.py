"""Owns how processes are written on pages."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from archivebox.machine.process import Process
from archivebox.web.process.exit_labels import kind_of, sentence_of, word_of

register = template.Library()
register.filter("ending", sentence_of)


@register.simple_tag
def end_badge(process: Process) -> SafeString:
    """How it ended, or that it runs, as a word and a colour."""
    return format_html(
        '<span class="badge {}" title="{}">{}</span>', kind_of(process), sentence_of(process), word_of(process)
    )
