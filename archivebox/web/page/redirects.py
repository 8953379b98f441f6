"""Owns where this app is, and where a form leads when it is done."""

from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.urls import get_script_prefix
from django.utils.http import url_has_allowed_host_and_scheme

from archivebox.web import settings


def our_address(request: HttpRequest) -> str:
    """Where whoever asks reaches this app: scheme, host, and the path below which it is, without a slash at the end."""
    return request.build_absolute_uri(get_script_prefix()).rstrip("/")


def public_address(request: HttpRequest) -> str:
    """Scheme and host of what others send people back to: those of BASE_URL, else those by which we were reached."""
    return settings.ORIGIN or f"{request.scheme}://{request.get_host()}"


def back_to(request: HttpRequest, otherwise: str) -> str:
    """The page that ``next`` names, if it is one of ours; else the address of ``otherwise``."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if is_ours else resolve_url(otherwise)
