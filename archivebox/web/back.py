"""Owns where a form leads when it is done."""

from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme


def back_to(request: HttpRequest, otherwise: str) -> str:
    """The page that ``next`` names, if it is one of ours; else the address of ``otherwise``."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if is_ours else resolve_url(otherwise)
