"""Finds what the tests need of the system, and installs what is missing where Debian's apt can."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

CREATE_CLUSTER = Path("/etc/postgresql-common/createcluster.conf")


class Need(NamedTuple):
    """A Debian package and the look that tells whether what it brings is there, from whichever source."""

    package: str
    is_there: Callable[[], bool]


def program(*names: str) -> Callable[[], bool]:
    """True when one of the programs is on the PATH."""
    return lambda: any(shutil.which(name) for name in names)


def file(folder: str, pattern: str) -> Callable[[], bool]:
    """True when a file matches the pattern; only Linux is asked, as other systems bring their own fonts and sandbox."""
    return lambda: sys.platform != "linux" or any(Path(folder).rglob(pattern))


NEEDS = (
    Need("chromium", program("chromium", "chromium-browser", "google-chrome")),
    Need("chromium-sandbox", file("/usr/lib/chromium", "chrome-sandbox")),
    Need("fonts-noto-cjk", file("/usr/share/fonts", "NotoSansCJK-*")),
    Need("fonts-noto-color-emoji", file("/usr/share/fonts", "NotoColorEmoji.ttf")),
    Need("fonts-liberation", file("/usr/share/fonts", "LiberationSans-Regular.*")),
    Need("nodejs", program("node")),
    Need("npm", program("npm")),
    Need("wget", program("wget")),
    Need("curl", program("curl")),
    Need("git", program("git")),
    Need("ffmpeg", program("ffmpeg")),
    Need("poppler-utils", program("pdftotext")),
    Need("tesseract-ocr", program("tesseract")),
    Need("tesseract-ocr-eng", file("/usr/share/tesseract-ocr", "eng.traineddata")),
    Need("ripgrep", program("rg")),
    Need("iproute2", lambda: sys.platform != "linux" or shutil.which("ip") is not None),
    Need("postgresql", lambda: postgres_folder() is not None),
    # a server that speaks S3; tests/suite/swift.py runs it
    Need("swift-proxy", program("swift-proxy-server")),
    Need("swift-account", program("swift-account-server")),
    Need("swift-container", program("swift-container-server")),
    Need("swift-object", program("swift-object-server")),
    Need("memcached", program("memcached")),
)


def postgres_folder() -> Path | None:
    """The newest folder that holds PostgreSQL's server programs; Debian keeps them off the PATH."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    candidates = [*reversed(folders), *(Path(found).parent for found in [shutil.which("initdb")] if found)]
    return next((path for path in candidates if (path / "initdb").exists() and (path / "postgres").exists()), None)


def missing() -> list[str]:
    """The packages whose programs or files are not there."""
    return [need.package for need in NEEDS if not need.is_there()]


def ensure() -> None:
    """Installs what is missing; SystemExit with what to type where it cannot."""
    packages = missing()
    if not packages:
        return
    by_hand = f"please install: {' '.join(packages)}"
    if not shutil.which("apt-get"):
        raise SystemExit(by_hand)
    as_root = [] if os.geteuid() == 0 else ["sudo"]
    if as_root and not shutil.which("sudo"):
        raise SystemExit(by_hand)
    sys.stderr.write(f"installing for the tests: {' '.join(packages)}\n")
    subprocess.run([*as_root, "apt-get", "update", "-qq"], check=True)
    if "postgresql" in packages and not CREATE_CLUSTER.exists():
        install(as_root, ["postgresql-common"])
        no_cluster = r"s/^#\?create_main_cluster.*/create_main_cluster = false/"
        subprocess.run([*as_root, "sed", "-i", no_cluster, str(CREATE_CLUSTER)], check=True)
    install(as_root, packages)
    still = missing()
    if still:
        raise SystemExit(f"installed, but still not found: {' '.join(still)}")


def install(as_root: list[str], packages: list[str]) -> None:
    """Runs apt without questions and with little to read."""
    quietly = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-qq", "-y", "--no-install-recommends"]
    subprocess.run([*as_root, *quietly, *packages], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
