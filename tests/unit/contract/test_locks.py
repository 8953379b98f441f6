"""What bundled plugins have pip install is known to the last file."""

import re

import pytest

from archivebox.contract.binaries import BinaryRequest
from archivebox.contract.discovery import BUNDLED, REQUIREMENTS_LOCK, discover_plugins
from tests.suite.locks import locked_requests, requirements_of

REQUESTS = dict(locked_requests())
_PINNED = re.compile(r"([A-Za-z0-9._-]+)==\S+(?: ;.*)?(?: \\\n    --hash=sha256:[0-9a-f]{64})+")


@pytest.mark.parametrize("plugin", REQUESTS)
def test_every_package_has_one_version_and_its_hashes(plugin: str) -> None:
    request: BinaryRequest = REQUESTS[plugin]
    options = request.overrides["pip"]
    assert isinstance(options, dict)
    lock = BUNDLED / plugin / REQUIREMENTS_LOCK
    assert options["lock"] == str(lock)
    text = lock.read_text()
    assert _PINNED.sub("", text).strip() == "", "nothing but pins with hashes"
    names = {re.sub(r"[-_.]+", "-", match[1]).lower() for match in _PINNED.finditer(text)}
    for wanted in requirements_of(request):
        name, _, version = re.sub(r"\[.*?\]", "", wanted).partition("==")
        assert re.sub(r"[-_.]+", "-", re.split("[<>=!~]", name)[0]).lower() in names
        assert not version or f"{name}=={version} " in text, "make lock-plugins"
    if "sha256" in options:
        assert f"--hash=sha256:{options['sha256']}" in text


def test_npm_knows_the_hash_of_all_that_it_installs() -> None:
    """Of a package whose files alone are taken there is no more than its own."""
    asked = [request for plugin in discover_plugins().values() for request in plugin.binaries]
    known = {one.name: options for one in asked if isinstance(options := one.overrides.get("npm"), dict)}
    assert {"defuddle", "single-file"} <= known.keys()
    for name, options in known.items():
        assert str(options.get("integrity")).startswith("sha512-"), name
        dependencies = options.get("dependencies")
        hashes = dependencies.values() if isinstance(dependencies, dict) else []
        assert dependencies is False or isinstance(dependencies, dict), name
        assert all(str(each).startswith("sha512-") for each in hashes), name
