"""Owns what people call a setting: the title that it declares, else its name as words."""

from archivebox.contract.schema import SettingSpec

_ENDINGS = {
    "ENABLED": "On",
    "TIMEOUT": "Time limit in seconds",
    "BINARY": "Program",
    "ARGS": "Options of the program",
    "ARGS_EXTRA": "Further options of the program",
}
"""What every plugin has (``standard_properties``), after its own name."""
_AS_WRITTEN = {
    "API": "API", "CPU": "CPU", "CSS": "CSS", "DNS": "DNS", "HTTP": "HTTP", "HTTPS": "HTTPS", "ID": "ID", "JS": "JS",
    "JPEG": "JPEG", "OIDC": "OpenID Connect", "PDF": "PDF", "SSL": "SSL", "TLS": "TLS", "URL": "URL", "URLS": "URLs",
    "WARC": "WARC", "ADDR": "address", "DIR": "folder", "MAX": "maximum", "MIN": "minimum",
}  # fmt: skip


def label_of(spec: SettingSpec, prefix: str = "") -> str:
    """``SCREENSHOT_FULL_PAGE`` of the plugin whose settings begin with ``SCREENSHOT`` → ``Full page``."""
    name = spec.name.removeprefix(f"{prefix}_") if prefix else spec.name
    if spec.title or name in _ENDINGS:
        return spec.title or _ENDINGS[name]
    words = " ".join(_AS_WRITTEN.get(word, word.lower()) for word in name.split("_"))
    return words[:1].upper() + words[1:]
