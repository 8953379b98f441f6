"""Django's settings for processes that serve pages: those of every process, and sessions, templates, cookies, CSP."""

import os
from urllib.parse import urlsplit

from archivebox.config import settings as base
from archivebox.config.early import early_settings
from archivebox.config.keys import secret_key
from archivebox.web.server.request_gate import BODY_MOST

DATABASES = base.DATABASES
DEFAULT_AUTO_FIELD = base.DEFAULT_AUTO_FIELD
LANGUAGE_CODE = base.LANGUAGE_CODE
LOGGING_CONFIG = base.LOGGING_CONFIG
TIME_ZONE = base.TIME_ZONE
USE_I18N = base.USE_I18N
USE_TZ = base.USE_TZ

SECRET_KEY = os.environ.get("SECRET_KEY") or secret_key(base.DATA_FOLDER)

_resolved = early_settings(base.DATA_FOLDER)

BASE_URL = _resolved.get_text("BASE_URL").rstrip("/")
REPLAY_URL = _resolved.get_text("REPLAY_URL").rstrip("/")
REPLAY_PORT = int(os.environ.get("ARCHIVEBOX_REPLAY_PORT", "8001"))
"""Where the replay listener of this server is; set by :mod:`archivebox.web.server`."""
PUBLIC_INDEX = _resolved.get_flag("PUBLIC_INDEX")
PUBLIC_SNAPSHOTS = _resolved.get_flag("PUBLIC_SNAPSHOTS")
PUBLIC_ADD_VIEW = _resolved.get_flag("PUBLIC_ADD_VIEW")
PUBLIC_ADD_DEPTH = _resolved.get_int("PUBLIC_ADD_DEPTH")
PUBLIC_ADD_PER_HOUR = _resolved.get_int("PUBLIC_ADD_PER_HOUR")
VISIBILITY = _resolved.get_text("VISIBILITY")
PUBLIC_METRICS = _resolved.get_flag("PUBLIC_METRICS")

TRUSTED_PROXIES = _resolved.get_list("TRUSTED_PROXIES")
REVERSE_PROXY_USER_HEADER = _resolved.get_text("REVERSE_PROXY_USER_HEADER")

_base = urlsplit(BASE_URL)
ORIGIN = f"{_base.scheme}://{_base.netloc}" if _base.hostname else ""
BELOW = _base.path
"""The path that all our addresses begin with, such as ``/archive``; empty where the host is ours alone."""
BEHIND_HTTPS = _base.scheme == "https"
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *_resolved.get_list("ALLOWED_HOSTS")]
if _base.hostname:
    ALLOWED_HOSTS.append(_base.hostname)

REPLAY_HOSTS = [".localhost", *filter(None, [urlsplit(REPLAY_URL.replace("*.", ".")).hostname])]
"""Names that archived pages are shown under, beside those of the app; a dot stands for all below."""

INSTALLED_APPS = [
    *base.INSTALLED_APPS,
    "archivebox.web",  # before the admin, whose template of the head it replaces
    "django.contrib.admin",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "archivebox.web.middleware.ContentSecurityPolicy",
    "archivebox.web.middleware.Compression",
    "archivebox.web.auth.page_access.Address",
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    *(["archivebox.web.auth.proxy_login.proxy_login"] if REVERSE_PROXY_USER_HEADER else []),
    # Every view asks for a log-in unless it says otherwise.
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "archivebox.web.auth.login_steps.FactorSetup",
    "archivebox.web.auth.page_access.Permissions",
    "archivebox.web.middleware.Misconfigured",
    "archivebox.web.middleware.FleetSettings",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "archivebox.web.urls"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "archivebox.web.views.shell.shell",
                "archivebox.web.auth.page_access.shown",
            ],
        },
    },
]
FORCE_SCRIPT_NAME = BELOW or None
STATIC_URL = f"{BELOW}/static/"
STORAGES = {"staticfiles": {"BACKEND": "archivebox.web.views.unauthenticated.VersionedStorage"}}

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    *(["archivebox.web.auth.proxy_login.ProxyBackend"] if REVERSE_PROXY_USER_HEADER else []),
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "snapshots"
LOGOUT_REDIRECT_URL = "login"

# `__Host-`: a name below or beside ours cannot set it. Browsers take the prefix over https only.
COOKIE_PREFIX = "__Host-" if BEHIND_HTTPS else ""
SESSION_ENGINE = "archivebox.web.auth.sessions"
SESSION_COOKIE_NAME = f"{COOKIE_PREFIX}archivebox_session"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Strict"
SESSION_COOKIE_SECURE = BEHIND_HTTPS
SESSION_COOKIE_AGE = 30 * 24 * 3600
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}archivebox_csrf"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Strict"
CSRF_COOKIE_SECURE = BEHIND_HTTPS
CSRF_FAILURE_VIEW = "archivebox.web.views.errors.csrf_failed"
CSRF_TRUSTED_ORIGINS = [ORIGIN] if ORIGIN else []
if BEHIND_HTTPS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

DATA_UPLOAD_MAX_MEMORY_SIZE = BODY_MOST
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000
