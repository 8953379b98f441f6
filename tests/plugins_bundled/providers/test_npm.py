"""Node programs and libraries."""

import fcntl
import io
import json
import shutil
import subprocess
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import TYPE_CHECKING

import pytest

from tests.plugins_bundled.providers.conftest import PLUGINS

if TYPE_CHECKING:
    from tests.plugins_bundled.providers.conftest import Answer, Provider

    Collect = Callable[[subprocess.Popen[bytes]], Answer]

pytestmark = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not on this machine")

# semver: ISC, no dependencies, one program. has-flag: MIT, no program.
SEMVER: dict[str, object] = {"npm": {"packages": ["semver"], "version": "7.6.3"}}


def test_a_program_is_installed_and_linked(providers: "Provider") -> None:
    record = providers.ask("npm", "semver", overrides=SEMVER).binary

    link = providers.lib / "bin" / "semver"
    assert (record["abspath"], record["version"], record["binprovider"]) == (str(link), "7.6.3", "npm")
    assert str(link.readlink()) == "../npm/node_modules/.bin/semver"
    done = subprocess.run([link, "-i", "major", "1.2.3"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "2.0.0"


HAS_FLAG: dict[str, object] = {"npm": {"packages": ["has-flag@5.0.1"], "library": True}}


def ask_together(providers: "Provider", collect: "Collect", **wanted: dict[str, object]) -> "list[Answer]":
    """Start hooks whose installation can begin when all of them have said what they want."""
    (providers.lib / "locks").mkdir(parents=True, exist_ok=True)
    with (providers.lib / "locks" / "provider-npm").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        started = [providers.start("npm", name, overrides=overrides) for name, overrides in wanted.items()]
        deadline = time.monotonic() + 60
        while len(list(providers.lib.glob("npm/pending/*.json"))) < len(wanted):
            assert time.monotonic() < deadline, "they never said what they want"
            time.sleep(0.02)
    return [collect(process) for process in started]


def installs(answer: "Answer") -> list[str]:
    """The command lines by which a hook installed something."""
    commands = [record["cmd"] for record in answer.records if record["type"] == "Process" and "exit_code" in record]
    return [" ".join(map(str, cmd)) for cmd in commands if isinstance(cmd, list) and "install" in cmd]


def test_packages_that_are_wanted_together_are_installed_at_once(providers: "Provider", collect: "Collect") -> None:
    first, second = ask_together(providers, collect, semver=SEMVER, has_flag=HAS_FLAG)

    modules = providers.lib / "npm" / "node_modules"
    assert first.binary["version"] == "7.6.3"
    assert second.binary["abspath"] == str(modules / "has-flag" / "package.json")
    assert second.binary["version"] == "5.0.1"
    assert len(installs(first) + installs(second)) == 1
    wanted = json.loads((providers.lib / "npm" / "package.json").read_bytes())["dependencies"]
    assert set(wanted) == {"semver", "has-flag"}
    assert list(providers.lib.glob("npm/pending/*")) == []


def test_a_package_that_cannot_be_had_keeps_none_of_those_beside_it(providers: "Provider", collect: "Collect") -> None:
    wrong: dict[str, object] = {"npm": {"packages": ["semver"], "version": "999.0.0"}}
    first, second = ask_together(providers, collect, semver=wrong, has_flag=HAS_FLAG)

    assert (first.code, first.binaries) == (1, [])
    assert "npm could not install semver@999.0.0" in first.stderr
    assert second.binary["version"] == "5.0.1"


def test_a_second_package_does_not_take_the_first_away(providers: "Provider") -> None:
    for name, overrides in (("semver", SEMVER), ("has-flag", HAS_FLAG)):
        assert providers.ask("npm", name, overrides=overrides).binary
    assert (providers.lib / "npm" / "node_modules" / "semver").is_dir()


def files_of(package: str) -> dict[str, object]:
    return {"npm": {"packages": [package], "library": True, "dependencies": False}}


def test_the_files_of_a_package_come_without_what_it_depends_on(providers: "Provider") -> None:
    """npm before 10 cannot install what depends on something that is in no registry."""
    first = providers.ask("npm", "semver", overrides=files_of("semver@7.3.2"))
    closed = {"npm_config_registry": "http://127.0.0.1:9", "npm_config_offline": "true"}
    again = providers.ask("npm", "semver", overrides=files_of("semver@7.3.2"), environ=closed)

    file = providers.lib / "npm" / "files" / "semver" / "package.json"
    assert (first.binary["abspath"], first.binary["version"]) == (str(file), "7.3.2")
    assert again.binary == first.binary
    assert not (providers.lib / "npm" / "node_modules").exists()
    newer = providers.ask("npm", "semver", overrides=files_of("semver@7.6.3"))
    assert newer.binary["version"] == "7.6.3"
    assert [path.name for path in file.parent.parent.iterdir()] == ["semver"]


def test_nothing_of_a_package_leads_out_of_its_folder(tmp_path: Path) -> None:
    unpack = run_path(str(PLUGINS / "npm" / "unpacking.py"))["unpack"]
    with tarfile.open(tmp_path / "x.tgz", "w:gz") as archive:
        for name in ("package/a/b.js", "package/../../out.js", "/package/c.js", "alone.js"):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
        link = tarfile.TarInfo("package/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    unpack(tmp_path / "x.tgz", tmp_path / "there")
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if not path.is_dir()}
    assert found == {"x.tgz", "there/a/b.js", "there/package/c.js"}


def test_a_version_that_does_not_exist_is_a_sentence_and_no_record(providers: "Provider") -> None:
    answer = providers.ask("npm", "semver", overrides={"npm": {"version": "999.0.0"}})

    assert (answer.code, answer.binaries) == (1, [])
    assert "npm could not install semver@999.0.0: No matching version found" in answer.stderr.splitlines()[-1]


def test_without_npm_the_hook_says_what_to_install(providers: "Provider") -> None:
    answer = providers.ask("npm", "semver", environ={"PATH": "/nowhere"})

    assert (answer.code, answer.records) == (1, [])
    assert "npm, which is not there" in answer.stderr


def test_what_is_there_costs_no_look_at_the_registry(providers: "Provider") -> None:
    first = providers.ask("npm", "semver", overrides=SEMVER)
    closed = {"npm_config_registry": "http://127.0.0.1:9", "npm_config_offline": "true"}

    again = providers.ask("npm", "semver", overrides=SEMVER, environ=closed)

    assert again.binary == first.binary
    assert not any("install" in str(record.get("cmd")) for record in again.records)


def test_an_upgrade_brings_the_newest_version(providers: "Provider") -> None:
    assert providers.ask("npm", "semver", overrides=SEMVER).binary["version"] == "7.6.3"
    newest: dict[str, object] = {"npm": {"packages": ["semver"]}}
    assert providers.ask("npm", "semver", overrides=newest).binary["version"] == "7.6.3"

    upgraded = str(providers.ask("npm", "semver", overrides=newest, upgrade=True).binary["version"])

    assert tuple(map(int, upgraded.split("."))) > (7, 6, 3)


def package_with_script(folder: Path) -> Path:
    """A package that leaves a file beside itself when it is installed."""
    folder.mkdir()
    scripts = {"install": "node -e \"require('fs').writeFileSync('ran', '')\""}
    named = {"name": "with-script", "version": "1.0.0", "bin": "run.js", "scripts": scripts}
    (folder / "package.json").write_text(json.dumps(named))
    (folder / "run.js").write_text("#!/usr/bin/env node\nconsole.log('1.0.0')\n")
    subprocess.run(["npm", "pack", "--silent"], cwd=folder, check=True, capture_output=True)
    return folder / "with-script-1.0.0.tgz"


@pytest.mark.parametrize("named", [True, False])
def test_a_script_of_a_package_runs_where_it_was_asked_for_alone(
    providers: "Provider", tmp_path: Path, named: bool
) -> None:
    package = package_with_script(tmp_path / "with-script")
    options = {"packages": [f"with-script@file:{package}"], "names": ["with-script"], "scripts": named}
    assert providers.ask("npm", "with-script", overrides={"npm": options}).code == 0
    assert (providers.lib / "npm" / "node_modules" / "with-script" / "ran").exists() is named


@pytest.mark.parametrize("dependencies", [True, False])
def test_a_package_with_another_hash_than_it_should_have_is_not_used(providers: "Provider", dependencies: bool) -> None:
    right = "sha512-oVekP1cKtI+CTDvHWYFUcMtsK/00wmAEfyqKfNdARm8u1wNVhSgaX7A8d4UuIlUI5e84iEwOhs7ZPYRmzU9U6A=="
    options = {"packages": ["semver"], "version": "7.6.3", "library": True, "dependencies": dependencies}
    wrong = providers.ask("npm", "semver", overrides={"npm": {**options, "integrity": f"sha512-{'A' * 86}=="}})
    assert (wrong.code, wrong.binaries) == (1, [])
    assert "hash" in wrong.stderr
    assert (
        providers.ask("npm", "semver", overrides={"npm": {**options, "integrity": right}}).binary["version"] == "7.6.3"
    )


def test_what_a_package_depends_on_is_known_by_its_hash_too(providers: "Provider") -> None:
    """semver 7.5.4 depends on lru-cache, and that on yallist."""

    def ask(dependencies: dict[str, str]) -> "Answer":
        options = {"packages": ["semver"], "version": "7.5.4", "dependencies": dependencies}
        return providers.ask("npm", "semver", overrides={"npm": options})

    def refused(dependencies: dict[str, str]) -> str:
        answer = ask(dependencies)
        assert (answer.code, answer.binaries) == (1, [])
        return answer.stderr

    assert "semver depends on node_modules/lru-cache, node_modules/yallist, whose hash is not known" in refused({})
    known: dict[str, str] = {}
    for package in ("lru-cache@6.0.0", "yallist@4.0.0"):
        wrong = {**known, package: "sha512-wrong"}
        known[package] = refused(wrong).partition(f"installed {package} with the hash ")[2].partition(",")[0]
    assert "yallist" in refused(dict(list(known.items())[:1]))
    assert ask(known).binary["version"] == "7.5.4"
