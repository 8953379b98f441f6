"""Owns how processes are written on pages: the sentence, and the word, on how each ended."""

import signal

from django import template
from django.db.models import Q
from django.utils.html import format_html
from django.utils.safestring import SafeString

from archivebox.contract.outcomes import BY_TERM, SKIPPED_EXIT
from archivebox.contract.records import EndReason
from archivebox.machine.process import Process

GOOD_CODES = (0, SKIPPED_EXIT, *BY_TERM)
"""How processes end that did as they should: those in the background are told to."""
WANTED = (EndReason.SEALED, EndReason.CANCELLED)
FAILED = (~Q(exit_code__in=GOOD_CODES) & ~Q(end_reason__in=WANTED)) | Q(end_reason=EndReason.TIMEOUT)
"""Of those that have ended: the ones that :func:`kind_of` calls bad."""

_SENTENCES = {
    EndReason.TIMEOUT: "It exceeded its time limit and was stopped.",
    EndReason.SEALED: "It runs in the background until its page is done, and was then stopped.",
    EndReason.CANCELLED: "Stopped on request.",
    EndReason.LOST: "Its exit was not observed, because its parent process or the machine had stopped.",
}


def sentence_of(process: Process) -> str:
    """How it ended; empty for one that has not."""
    if process.status != Process.StatusChoices.EXITED:
        return ""
    known = _SENTENCES.get(EndReason(process.end_reason)) if process.end_reason else None
    return " ".join(filter(None, (known, _status_of(process.exit_code))))


def word_of(process: Process) -> str:
    """The same as a word for lists."""
    if process.status != Process.StatusChoices.EXITED:
        return "running" if process.status == Process.StatusChoices.RUNNING else "not started"
    if process.end_reason in {EndReason.TIMEOUT, EndReason.CANCELLED}:
        return str(process.end_reason)
    if process.end_reason == EndReason.SEALED or process.exit_code in BY_TERM:
        return "stopped"
    if process.exit_code is None:
        return "lost"
    if process.exit_code < 0:
        return _signal(-process.exit_code)
    return f"exit {process.exit_code}"


def kind_of(process: Process) -> str:
    """The colour and shape of that word."""
    if process.status != Process.StatusChoices.EXITED:
        return "busy" if process.status == Process.StatusChoices.RUNNING else "wait"
    if process.end_reason == EndReason.CANCELLED:
        return "calm"
    is_good = process.end_reason == EndReason.SEALED or process.exit_code in GOOD_CODES
    return "good" if is_good and process.end_reason != EndReason.TIMEOUT else "bad"


def _status_of(code: int | None) -> str:
    if code is None:
        return ""
    if code == SKIPPED_EXIT:
        return f"Its exit status was {code}: there was nothing to do."
    return f"It was stopped by {_signal(-code)}." if code < 0 else f"Its exit status was {code}."


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


register = template.Library()
register.filter("ending", sentence_of)


@register.simple_tag
def end_badge(process: Process) -> SafeString:
    """How it ended, or that it runs, as a word and a colour."""
    return format_html(
        '<span class="badge {}" title="{}">{}</span>', kind_of(process), sentence_of(process), word_of(process)
    )
