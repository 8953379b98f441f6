"""Python programs, each in an environment of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from archivebox.plugins.base.install import InstallRequest, Library
from archivebox.plugins.pip.environment import Environment

if TYPE_CHECKING:
    from tests.plugins_bundled.providers.conftest import Answer, Provider

# semver: BSD-3-Clause, 20 KB, no dependencies, one console script.
SEMVER: dict[str, object] = {"pip": {"packages": ["semver"], "version": "3.0.4"}}


def test_a_program_is_installed_and_linked(providers: "Provider") -> None:
    record = providers.ask("pip", "pysemver", overrides=SEMVER, binproviders="env,pip").binary

    link = providers.lib / "bin" / "pysemver"
    assert (record["abspath"], record["version"], record["binprovider"]) == (str(link), "3.0.4", "pip")
    assert str(link.readlink()) == "../pip/pysemver/bin/pysemver"
    done = subprocess.run([link, "bump", "major", "1.2.3"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "2.0.0"


def test_two_collections_install_the_same_program_at_once(
    providers: "Provider", collect: "Callable[[subprocess.Popen[bytes]], Answer]"
) -> None:
    both = [providers.start("pip", "pysemver", overrides=SEMVER) for _ in range(2)]

    records = [collect(process).binary for process in both]

    assert records[0] == records[1]
    builds = [path for path in (providers.lib / "pip").iterdir() if not path.is_symlink()]
    assert len(builds) == 1, "who waits for another's build takes that one"


def test_what_is_there_as_asked_costs_no_look_at_the_registry(providers: "Provider") -> None:
    first = providers.ask("pip", "pysemver", overrides=SEMVER)

    again = providers.ask("pip", "pysemver", overrides=SEMVER, environ={"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""})

    assert again.binary == first.binary
    assert not any("install" in str(record.get("cmd")) for record in again.records)


def test_an_upgrade_replaces_the_build_and_keeps_the_former_one(providers: "Provider") -> None:
    """It takes the newest version, and who asks for the usual one afterwards takes that."""
    places, versions = [], set()
    for _ in range(3):
        versions.add(providers.ask("pip", "pysemver", overrides=SEMVER, upgrade=True).binary["version"])
        places.append((providers.lib / "pip" / "pysemver").resolve())
    versions.add(providers.ask("pip", "pysemver", overrides=SEMVER).binary["version"])
    assert len(versions) == 1
    assert versions != {"3.0.4"}

    assert len(set(places)) == 3
    assert [place.exists() for place in places] == [False, True, True]


def test_a_package_with_another_hash_than_it_should_have_is_not_used(providers: "Provider") -> None:
    options = {"packages": ["semver"], "version": "3.0.4", "sha256": "0" * 64}
    answer = providers.ask("pip", "pysemver", overrides={"pip": options})
    assert (answer.code, answer.binaries) == (1, [])
    right = answer.stderr.partition("SHA-256 ")[2].partition(",")[0]
    assert len(right) == 64
    assert not (providers.lib / "pip" / "pysemver").exists()
    assert (
        providers.ask("pip", "pysemver", overrides={"pip": {**options, "sha256": right}}).binary["version"] == "3.0.4"
    )


def test_a_package_that_does_not_exist_leaves_nothing(providers: "Provider") -> None:
    overrides: dict[str, object] = {"pip": {"packages": ["semver"], "version": "0.0.0.dev987654"}}

    answer = providers.ask("pip", "pysemver", overrides=overrides)

    assert (answer.code, answer.binaries) == (1, [])
    assert "pip could not install semver" in answer.stderr.splitlines()[-1]
    assert list((providers.lib / "pip").iterdir()) == []


def test_a_package_without_that_program_is_said(providers: "Provider") -> None:
    answer = providers.ask("pip", "not-in-it", overrides=SEMVER)

    assert (answer.code, answer.binaries) == (1, [])
    assert "brings no program" in answer.stderr


def test_an_interpreter_without_pip_uses_the_wheel_of_ensurepip(providers: "Provider", tmp_path: Path) -> None:
    """The wheel runs from inside its file, so that an application without pip of its own can install."""
    request = InstallRequest("pysemver", "pip", {"packages": ["semver"]})
    environment = Environment(Library(providers.lib), request, 100.0)
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    code = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "from archivebox.plugins.base.install import Library\n"
        "from archivebox.plugins.base.install import InstallRequest\n"
        "from archivebox.plugins.pip.environment import Environment\n"
        "from pathlib import Path\n"
        "request = InstallRequest('pysemver', 'pip', {'packages': ['semver']})\n"
        "environment = Environment(Library(Path(sys.argv[2])), request, 100.0)\n"
        "print(*environment._pip(), file=sys.stderr)\n"
        "print(environment.install(), file=sys.stderr)\n"
    )
    root = str(Path(__file__).parents[3])

    done = subprocess.run(
        [bare / "bin" / "python", "-c", code, root, str(providers.lib)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert ".whl/pip" in done.stderr or "__pip-runner__.py" in done.stderr
    assert environment._program() is not None


def test_pip_does_not_read_the_limits_of_the_hook(providers: "Provider") -> None:
    """PIP_TIMEOUT is the engine's word for the hook's time and pip's for one connection; 0 would let none succeed."""
    answer = providers.ask("pip", "pysemver", overrides=SEMVER, environ={"PIP_TIMEOUT": "0", "PIP_ENABLED": "true"})

    assert answer.code == 0, answer.stderr


def test_a_hook_told_to_stop_leaves_no_half_built_environment(providers: "Provider") -> None:
    process = providers.start("pip", "pysemver", overrides=SEMVER)
    assert process.stdout is not None
    os.read(process.stdout.fileno(), 1)  # of its first record: venv has been started
    process.terminate()
    process.communicate(timeout=60)

    assert process.returncode == 1
    assert list((providers.lib / "pip").iterdir()) == []


def test_a_lock_file_names_the_files_that_are_installed(providers: "Provider", tmp_path: Path) -> None:
    options = {"packages": ["semver"], "version": "3.0.4", "sha256": "0" * 64}
    refused = providers.ask("pip", "pysemver", overrides={"pip": options}).stderr
    right = refused.partition("SHA-256 ")[2].partition(",")[0]
    lock = tmp_path / "requirements.lock"
    locked: dict[str, object] = {"pip": {"packages": ["semver"], "lock": str(lock)}}
    assert "is not there" in providers.ask("pip", "pysemver", overrides=locked).stderr
    lock.write_text(f"semver==3.0.4 --hash=sha256:{'0' * 64}\n")
    assert providers.ask("pip", "pysemver", overrides=locked).code == 1
    lock.write_text(f"semver==3.0.4 --hash=sha256:{right}\n")
    assert providers.ask("pip", "pysemver", overrides=locked).binary["version"] == "3.0.4"
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    assert providers.ask("pip", "pysemver", overrides=locked, environ=offline).code == 0, "it is there as asked"
    lock.write_text(f"# another\nsemver==3.0.4 --hash=sha256:{right}\n")
    assert providers.ask("pip", "pysemver", overrides=locked, environ=offline).code == 1, "a changed lock is a new wish"
    upgraded = providers.ask("pip", "pysemver", overrides=locked, upgrade=True).binary
    assert upgraded["version"] != "3.0.4"
