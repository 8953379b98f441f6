"""What the lock files may hold: pinned by hash, from no named host, under a permissive licence."""

import re
import tomllib
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from archivebox.cli.version import LIBRARIES
from tests.architecture import source

PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)(?: ; ([^\\]+?))? *\\?$", re.MULTILINE)
LOCKS = ("requirements.lock", "requirements-dev.lock")
# LGPL libraries may be used as they are; GPL and AGPL would extend to the whole program.
FORBIDDEN = re.compile(r"\b(A?GPL|GNU (Affero )?General Public)", re.IGNORECASE)
PERMISSIVE = re.compile(
    r"MIT|BSD|Apache|PSF|Python Software|MPL|Mozilla|ISC|LGPL|Lesser|Unlicense|CC0|0BSD|ZPL|Zope|HPND"
)


def pins(name: str) -> dict[str, str]:
    text = (source.ROOT / name).read_text()
    return {found[0]: found[1] for found in PIN.findall(text)}


def declared() -> tuple[list[str], list[str]]:
    project = tomllib.loads((source.ROOT / "pyproject.toml").read_text())
    return project["project"]["dependencies"], project["dependency-groups"]["dev"]


def licence(name: str) -> str:
    fields = metadata.metadata(name).json
    classifiers = [text for text in fields.get("classifier", []) if text.startswith("License")]
    first_line = str(fields.get("license", "")).strip().split("\n")[0]
    return " / ".join(filter(None, [str(fields.get("license_expression", "")), *classifiers, first_line]))


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_has_its_hashes_and_no_host_is_named(name: str) -> None:
    text = (source.ROOT / name).read_text()
    blocks = re.split(r"\n(?=[a-z0-9])", text.strip())
    assert len(blocks) > 10
    assert [block.split("==")[0] for block in blocks if "--hash=sha256:" not in block] == []
    assert not re.search(r"https?://|--(extra-)?index-url|--find-links|@ ", text)


@pytest.mark.parametrize(("name", "wanted"), [(LOCKS[0], 0), (LOCKS[1], 1)])
def test_the_lock_file_holds_what_pyproject_declares(name: str, wanted: int) -> None:
    locked = pins(name)
    missing = []
    for requirement in map(Requirement, declared()[wanted]):
        version = locked.get(canonicalize_name(requirement.name))
        if version is None or not requirement.specifier.contains(version):
            missing.append(str(requirement))
    assert missing == [], "run `make lock`"


def test_a_version_is_told_only_of_libraries_that_everybody_has() -> None:
    assert {canonicalize_name(name) for name in LIBRARIES} <= pins(LOCKS[0]).keys()


def test_the_development_lock_holds_the_same_versions() -> None:
    assert pins(LOCKS[0]).items() <= pins(LOCKS[1]).items()


def test_no_dependency_has_a_licence_that_would_extend_to_us() -> None:
    judged = {}
    for name in pins(LOCKS[1]):
        try:
            judged[name] = licence(name)
        except metadata.PackageNotFoundError:  # for another platform or Python
            continue
    assert len(judged) > 20
    assert {name: text for name, text in judged.items() if FORBIDDEN.search(text)} == {}
    assert {name: text for name, text in judged.items() if not PERMISSIVE.search(text)} == {}
