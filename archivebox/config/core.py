"""Owns the application's own settings, as one table."""

from functools import partial
from urllib.parse import urlsplit

from archivebox.contract.schema import Scope, SettingSpec
from archivebox.lib.networks import OpenedNetworks

MEGABYTE = 1_000_000

PERSONA_NAME = r"^[A-Za-z0-9][A-Za-z0-9._ -]{0,63}$"
"""A name of a folder that is no way out of ``personas/``."""


def _parse_proxy(url: str) -> None:
    """ValueError, which does not show the secret, for what names no host or no port that exists."""
    try:
        parts = urlsplit(url)
        is_usable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise ValueError("PROXY must name a host and, after a colon, a port from 1 to 65535")


_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")

_machine_setting = partial(SettingSpec, scope=Scope.MACHINE)
_collection_setting = partial(SettingSpec, scope=Scope.COLLECTION)

_SHARED = (
    SettingSpec("TIMEOUT", "integer", 60, "Seconds that a hook may take unless its plugin says otherwise", minimum=1),
    SettingSpec(
        "CHECK_SSL_VALIDITY",
        "boolean",
        True,
        "Refuse sites whose certificate is not valid",
        aliases=("CHROME_CHECK_SSL_VALIDITY",),
    ),
    SettingSpec(
        "USER_AGENT",
        "string",
        "",
        "User agent of every request; empty: each program's own",
        aliases=("CHROME_USER_AGENT",),
    ),
    SettingSpec(
        "COOKIES_FILE",
        "string",
        "",
        "File of cookies, in Netscape format, that hooks send",
        aliases=("CHROME_COOKIES_FILE",),
        identity=True,
    ),
    SettingSpec(
        "RESOLUTION",
        "string",
        "1440,900",
        "Width,height of pages in pixels",
        aliases=("CHROME_RESOLUTION",),
        pattern=r"^\d{2,5}[,x]\d{2,5}$",
    ),
    SettingSpec("NODE_BINARY", "string", "node", "Program that runs JavaScript hooks"),
)

_PLACES = (
    _machine_setting("LIB_DIR", "string", "", "Folder of installed programs; empty: archivebox/lib in XDG_DATA_HOME"),
    _collection_setting(
        "OUTPUT_PERMISSIONS",
        "string",
        "600",
        "Who may read archived files, in octal; 644: every user of this machine",
        pattern=r"^0?[67][0-7][0-7]$",
    ),
    _collection_setting("DATABASE_URL", "string", "", "PostgreSQL for several machines; empty: SQLite", sensitive=True),
    _collection_setting(
        "STORAGE_URL",
        "string",
        "",
        "Where pages are stored as well: file:///folder or the URL of a bucket (docs/storage.md); empty: nowhere else",
    ),
    _collection_setting(
        "STORAGE_GRACE",
        "integer",
        86_400,
        "Seconds that objects stay in STORAGE_URL after nothing needs them; longer than what a failover may lose",
        minimum=0,
    ),
    _collection_setting(
        "STORAGE_CACHE",
        "integer",
        20_000 * MEGABYTE,
        "Bytes of local copies of pages that are in STORAGE_URL; those unused for longest are deleted first",
        minimum=0,
    ),
    _machine_setting(
        "MACHINE_ID",
        "string",
        "",
        "Name of this machine where several share a database, any text; empty: an id kept in the user's state folder",
    ),
    _collection_setting(
        "MIGRATION_BACKUPS",
        "integer",
        3,
        "Copies of the database that are kept in backups/, each from before an upgrade; 0: none is made",
        minimum=0,
    ),
    _machine_setting("LOG_LEVEL", "string", "INFO", "Least important messages that are logged", enum=_LEVELS),
)

_WORK = (
    _machine_setting(
        "WORKERS", "integer", None, "Worker processes; unset: as many as needed, at most one per core", minimum=1
    ),
    _machine_setting(
        "SNAPSHOTS_IN_FLIGHT", "integer", 4, "Snapshots at a time, for each worker that there may be", minimum=1
    ),
    _machine_setting(
        "CRAWLS_IN_FLIGHT", "integer", 4, "Crawls whose browser is up at a time on this machine", minimum=1
    ),
    _machine_setting(
        "CRAWL_TURN", "number", 300, "Seconds before a running crawl yields its browser to a waiting one", minimum=0
    ),
    _machine_setting("HOOK_CONCURRENCY", "integer", None, "Foreground hooks at a time; unset: 2 per core", minimum=1),
    _machine_setting(
        "TABS",
        "integer",
        None,
        "Browser tabs at a time, and one for each further crawl; unset: one per core",
        minimum=1,
    ),
    _machine_setting("STOP_GRACE", "number", 5, "Seconds between asking a process to stop and ending it", minimum=0),
    _machine_setting("SEAL_GRACE", "number", 10, "Least seconds that background hooks have at the end", minimum=0),
    SettingSpec("MAX_ATTEMPTS", "integer", 3, "Times that a failing hook is run in all", minimum=1),
    _machine_setting("INSTALL_TIMEOUT", "integer", 1_800, "Seconds that installing a program may take", minimum=1),
    SettingSpec("HOOK_OUTPUT_MAX", "integer", 16 * MEGABYTE, "Bytes kept of each output of a hook", minimum=1_000),
    SettingSpec("HOOK_FILE_MAX", "integer", 16_000 * MEGABYTE, "Bytes of the largest file of a hook", minimum=MEGABYTE),
    _machine_setting(
        "DISK_FREE_MIN", "integer", 500 * MEGABYTE, "Bytes of free disk below which no work begins", minimum=0
    ),
    _machine_setting(
        "WARM_BROWSER",
        "boolean",
        True,
        "Next to a server, have a browser ready for the next crawl, for ten minutes after the last one",
    ),
    _machine_setting(
        "MEASURE_REPLAY", "boolean", True, "Measure how much of each page its replay shows, while nothing else runs"
    ),
    _collection_setting(
        "PROCESS_RETENTION_DAYS", "integer", 30, "Days that process records stay; 0: for ever", minimum=0
    ),
    _collection_setting(
        "AUDIT_RETENTION_DAYS", "integer", 365, "Days that it is known who changed what; 0: always", minimum=0
    ),
    _collection_setting(
        "REMOVED_RETENTION_DAYS", "integer", 30, "Days until files of removed pages go; 0: never", minimum=0
    ),
)

_CRAWLS = (
    SettingSpec(
        "ACTIVE_PERSONA",
        "string",
        "Default",
        "Persona (browser profile) of new crawls; empty: none",
        pattern=f"^$|{PERSONA_NAME}",
    ),
    SettingSpec("PLUGINS", "array", [], "Plugins to run and what they require; empty: all", items="string"),
    SettingSpec("MAX_DEPTH", "integer", 0, "Links to follow from the URLs given", minimum=0, maximum=100),
    SettingSpec("MAX_URLS", "integer", None, "URLs of one crawl; unset: no limit", minimum=1),
    SettingSpec("MAX_SIZE", "integer", None, "Bytes that one crawl may receive; unset: no limit", minimum=1),
    SettingSpec("MAX_URLS_PER_PAGE", "integer", 200_000, "Links taken from one page", minimum=1),
    SettingSpec(
        "VISIBILITY",
        "string",
        "members",
        "Who sees what is archived, unless a crawl says otherwise: public, members (logged in), private (its owner)",
        enum=("public", "members", "private"),
    ),
    SettingSpec(
        "KEEP_UNCHANGED",
        "boolean",
        True,
        "Keep new versions of unchanged pages, too; linked: with hard links to the outputs of the version before",
        enum=(True, False, "linked"),
    ),
    SettingSpec("URL_SCOPE", "string", "all", "How far links are followed", enum=("page", "host", "domain", "all")),
    SettingSpec(
        "URL_ALLOWLIST",
        "string",
        "",
        "Regular expressions, one a line; other URLs are refused",
        aliases=("URL_WHITELIST",),
        are_patterns=True,
    ),
    SettingSpec(
        "URL_DENYLIST",
        "string",
        "",
        "Regular expressions, one a line; matching URLs are refused",
        aliases=("URL_BLACKLIST",),
        are_patterns=True,
    ),
    SettingSpec("URL_SCHEMES", "array", ["http", "https"], "Kinds of URL that are archived", items="string"),
    _collection_setting("DOMAIN_DELAY", "number", 0, "Seconds between two visits to one host", minimum=0),
    _collection_setting(
        "DOMAIN_CONCURRENCY",
        "integer",
        4,
        "Pages of one host at a time; retries do not count",
        minimum=1,
    ),
    SettingSpec(
        "PRIVATE_NETWORK_ALLOWLIST",
        "array",
        [],
        "Private hosts and CIDRs pages may reach",
        items="string",
        parse=OpenedNetworks.parse,
    ),
    SettingSpec("ALLOW_DIRECT_NETWORK", "boolean", False, "Run hooks that connect past ArchiveBox's proxy"),
    SettingSpec(
        "PROXY",
        "string",
        "",
        "Proxy through which everything is fetched: http://host:port or socks5://user:password@host:port",
        aliases=("CHROME_PROXY",),
        sensitive=True,
        pattern=r"^((http|socks5h?)://[^/\s]+/?)?$",
        parse=_parse_proxy,
    ),
)

_WEB = (
    _collection_setting("BIND_ADDR", "string", "127.0.0.1:8000", "Address that the web server listens on"),
    _collection_setting("REPLAY_ADDR", "string", "", "Address that archived pages are shown on; empty: the next port"),
    _collection_setting(
        "BASE_URL", "string", "", "URL by which people reach a server behind a proxy: https://archive.example.org"
    ),
    _collection_setting(
        "REPLAY_URL",
        "string",
        "",
        "The same for archived pages; a * stands for a host name per snapshot. Their scripts can run only with a *, on"
        " another domain than BASE_URL's",
    ),
    _collection_setting(
        "TRUSTED_PROXIES",
        "array",
        [],
        "Addresses and CIDRs of proxies whose X-Forwarded-For names the visitor; empty: trust no proxy",
        items="string",
        aliases=("REVERSE_PROXY_WHITELIST",),
    ),
    _collection_setting(
        "REVERSE_PROXY_USER_HEADER",
        "string",
        "",
        "Header in which a trusted proxy names who has logged in there, such as Remote-User; empty: none does",
        pattern=r"^[A-Za-z][A-Za-z0-9-]*$|^$",
    ),
    _collection_setting(
        "ALLOWED_HOSTS", "array", [], "Host names the server answers to beside localhost", items="string"
    ),
    _collection_setting("PUBLIC_INDEX", "boolean", False, "Show the list of public pages without a login"),
    _collection_setting("PUBLIC_SNAPSHOTS", "boolean", False, "Show public pages without a login"),
    _collection_setting("PUBLIC_ADD_VIEW", "boolean", False, "Take URLs without a login"),
    _collection_setting("PUBLIC_ADD_DEPTH", "integer", 0, "Largest depth for such URLs", minimum=0, maximum=100),
    _collection_setting(
        "PUBLIC_ADD_PER_HOUR", "integer", 20, "Such URLs that one address (IPv6: one /64) adds in an hour", minimum=1
    ),
    _collection_setting("PUBLIC_METRICS", "boolean", False, "Answer Prometheus at /metrics/ without a token"),
)

_LOGIN = (
    _collection_setting(
        "ADMIN_USERNAME",
        "string",
        "admin",
        "Name of the administrator whom a new collection gets from ADMIN_PASSWORD",
        pattern=r"^[\w.@+-]{1,150}$",
    ),
    _collection_setting(
        "ADMIN_PASSWORD",
        "string",
        "",
        "Password of that administrator, as long as none can log in with a password; empty: the server shows a link",
        sensitive=True,
    ),
    _collection_setting(
        "PASSWORD_LOGIN", "boolean", True, "Let people log in with a password of this server, or a passkey made here"
    ),
    _collection_setting(
        "REQUIRE_TWO_FACTOR",
        "string",
        "none",
        "Who needs a second factor beside a password, and is asked to set one up at the next log-in",
        enum=("none", "administrators", "everybody"),
    ),
    _collection_setting(
        "OIDC_ISSUER",
        "string",
        "",
        "OpenID Connect provider, as it calls itself: https://login.example.org/realms/home; empty: none",
        pattern=r"^(https?://\S+)?$",
    ),
    _collection_setting("OIDC_CLIENT_ID", "string", "", "Name under which the provider knows this server"),
    _collection_setting("OIDC_CLIENT_SECRET", "string", "", "Secret that goes with it; empty: none", sensitive=True),
    _collection_setting("OIDC_NAME", "string", "", "What people call the provider; empty: its host name"),
    _collection_setting("OIDC_SCOPES", "array", ["openid", "profile", "email"], "What it is asked for", items="string"),
    _collection_setting(
        "OIDC_USERNAME_CLAIM", "string", "preferred_username", "What it says that becomes an account's name"
    ),
    _collection_setting("OIDC_ROLE_CLAIM", "string", "groups", "The claim that gives the role; a.b for a nested claim"),
    _collection_setting("OIDC_ADMINS", "array", [], "Groups whose members administer the collection", items="string"),
    _collection_setting("OIDC_EDITORS", "array", [], "Groups whose members add and change", items="string"),
    _collection_setting("OIDC_VIEWERS", "array", [], "Groups whose members read", items="string"),
    _collection_setting(
        "OIDC_DEFAULT_ROLE",
        "string",
        "",
        "Role of those who are in none of these groups, or are new where none is set; empty: they are refused",
        enum=("", "viewer", "editor", "admin"),
    ),
)

_SEARCH = (
    _collection_setting(
        "SEARCH_BACKEND_ENGINE",
        "string",
        "auto",
        "Engine that searches the text of pages; auto: that of the database, sqlite or postgresql; "
        "empty: titles and URLs alone",
    ),
)

_IMPORT = (
    _collection_setting(
        "IMPORT_DIR",
        "string",
        "/",
        "Folder of the server in which administrators may name what is imported, in the web interface; empty: none",
        pattern=r"^$|^/",
    ),
    _collection_setting(
        "IMPORT_UPLOAD_MAX",
        "integer",
        4_000_000_000,
        "Bytes of a file that is uploaded to import the pages in it; 0: none may be uploaded",
        minimum=0,
    ),
)

GROUPS: dict[str, tuple[SettingSpec, ...]] = {
    "Crawls": _CRAWLS,
    "Hooks": _SHARED,
    "Work": _WORK,
    "Search": _SEARCH,
    "Import": _IMPORT,
    "Web": _WEB,
    "Log-in": _LOGIN,
    "Places": _PLACES,
}
"""Every setting that belongs to no plugin, by what it is about."""

CORE_SETTINGS: dict[str, SettingSpec] = {spec.name: spec for group in GROUPS.values() for spec in group}
"""Every setting that belongs to no plugin, by name."""

SHARED_SETTINGS: tuple[str, ...] = tuple(spec.name for spec in _SHARED)
"""Those that every hook finds in its environment; the rest stays in the engine."""
