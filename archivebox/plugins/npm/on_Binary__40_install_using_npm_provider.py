#!/usr/bin/env python3
"""Provider npm: installs a Node program or library into LIB_DIR/npm/node_modules."""

from __future__ import annotations

import json
import re
from pathlib import Path

from shared_install import PendingInstall, announced, claim_all
from unpacking import fetch_files

from archivebox.plugins.base import Hook, Settings, on_stop, run_program
from archivebox.plugins.base.install import (
    InstallRequest,
    Library,
    answer_with_first,
    fail_install,
    find_all,
    install_timeout,
    report,
    search_path,
)

PROVIDER = "npm"


def main() -> None:
    request = InstallRequest.from_hook(Hook.from_argv(), PROVIDER)
    on_stop(lambda: fail_install(f"Told to stop before {request.name} was installed."))
    library = Library.current()
    modules = Path(Settings().path("NODE_MODULES_DIR") or library.root / "npm" / "node_modules")
    npm = next(find_all([Settings().str("NPM_BINARY")], search_path(library)), None)
    if npm is None:
        fail_install(f"{request.name} comes with npm, which is not there. Install Node.js: sudo apt-get install npm")
    if request.options.get("dependencies") is False:
        report_library(request, install_files(request, npm, modules.parent / "files", library), library)
        return
    if request.upgrade:
        with library.locked("npm"):
            install_alone(request, npm, modules)
    elif not has_all(request, modules):
        install_with_others(request, npm, modules, library)
    check_hashes(request, modules)
    if request.options.get("library") is True:
        report_library(request, modules, library)
    program = next(find_all([Path(name).name for name in request.names], [str(modules / ".bin")]), None)
    if program is None:
        fail_install(
            f"npm installed {' '.join(request.packages)}, which brings no program {' or '.join(request.names)}."
        )
    link = library.link(program.name, program)
    version = version_of(package_file(request.packages[0], modules))
    answer_with_first(request, [link], library, f"npm installed {request.name}, but it does not run.", version)


def install_files(request: InstallRequest, npm: Path, folder: Path, library: Library) -> Path:
    """Have the files of a package alone in a folder, which it returns: npm would take them out of its own."""
    (package,) = packages_of(request)
    with library.locked("npm"):
        target = package_file(package, folder).parent
        wanted = {"", version_of(target / "package.json")}
        is_here = target.is_dir() and not request.upgrade and package.lstrip("@").partition("@")[2] in wanted
        if not is_here and not fetch_files(package, npm, target, install_timeout(), hash_of(request)):
            fail_install(f"npm could not fetch {package}, or its hash is another than {hash_of(request)}.")
    return folder


def packages_of(request: InstallRequest) -> list[str]:
    """The packages as npm is asked for them: in the versions that are wanted, with those of what they depend on."""
    packages = request.packages
    if request.upgrade:
        return [newest(package) for package in packages]
    if request.version:
        packages[0] += f"@{request.version}"
    return [*packages, *hashes_of_dependencies(request)]


def hashes_of_dependencies(request: InstallRequest) -> dict[str, str]:
    """`name@version` of each package that the first one depends on, and its hash; empty where they are not known."""
    named = request.options.get("dependencies")
    known = named if isinstance(named, dict) and not request.upgrade else {}
    return {package: str(integrity) for package, integrity in known.items()}


def hash_of(request: InstallRequest) -> str:
    """The hash that the first package has to have, as npm writes it; empty where none is known: of newer versions."""
    value = request.options.get("integrity")
    return value if isinstance(value, str) and not request.upgrade else ""


def check_hashes(request: InstallRequest, modules: Path) -> None:
    """End the hook where npm installed another package than the plugin was written for, also one that it depends on."""
    first = request.packages[0]
    dependencies = hashes_of_dependencies(request)
    wanted = {name_of(package): (package, integrity) for package, integrity in dependencies.items()}
    if hash_of(request):
        wanted[name_of(first)] = (packages_of(request)[0], hash_of(request))
    for name, (package, integrity) in wanted.items():
        found = str(entry_of(name, modules).get("integrity", ""))
        if found != integrity:
            fail_install(f"npm installed {package} with the hash {found}, not {integrity}: it is not used.")
    if isinstance(request.options.get("dependencies"), dict) and not request.upgrade:
        known = {f"node_modules/{name}" for name in (name_of(first), *wanted)}
        if others := loaded_by(name_of(first), installed_in(modules)) - known:
            fail_install(f"{first} depends on {', '.join(sorted(others))}, whose hash is not known: it is not used.")


def loaded_by(name: str, installed: dict[str, dict[str, object]]) -> set[str]:
    """Where what a package loads lies, itself included, as Node looks for it: beside it, or in a folder above."""
    found: set[str] = set()
    left = [f"node_modules/{name}"]
    while left:
        place = left.pop()
        found.add(place)
        needed = installed.get(place, {}).get("dependencies", {})
        for other in needed if isinstance(needed, dict) else ():
            nested = f"{place}/node_modules/{other}"
            beside = nested if nested in installed else f"node_modules/{other}"
            left += [beside] if beside not in found else []
    return found


def newest(package: str) -> str:
    """Without a word on its version, npm leaves a package as it is."""
    return package if "@" in package[1:] else f"{package}@latest"


def pending_install(request: InstallRequest) -> PendingInstall:
    """Programs that packages want to run at their installation are run where they were asked for alone."""
    scripts = [] if request.options.get("scripts") is True else ["--ignore-scripts"]
    return PendingInstall(packages_of(request), [*scripts, *request.arguments("args")])


def has_all(request: InstallRequest, modules: Path) -> bool:
    """Whether the registry need not be asked."""
    return all(is_there(package, modules) for package in packages_of(request))


def install_with_others(request: InstallRequest, npm: Path, modules: Path, library: Library) -> None:
    """Have it installed by whoever installs first, which may be ourselves; where that fails, alone."""
    pending = modules.parent / "pending"
    with announced(pending, pending_install(request)), library.locked("npm"):
        if has_all(request, modules):
            return
        together = claim_all(pending, pending_install(request))
        if together.packages == packages_of(request) or install(together, npm, modules):
            install_alone(request, npm, modules)


def install_alone(request: InstallRequest, npm: Path, modules: Path) -> None:
    """Install it, or end the hook with the sentence that says why not."""
    if reason := install(pending_install(request), npm, modules):
        fail_install(f"npm could not install {' '.join(packages_of(request))}: {reason}")


def is_there(package: str, modules: Path) -> bool:
    """Whether a package is installed: in any version where none is named, else in exactly that one.

    npm writes `.package-lock.json` at the end of an installation: one that was cut off is not in it.
    """
    installed = entry_of(package, modules).get("version")
    version = package.lstrip("@").partition("@")[2]
    return package_file(package, modules).parent.is_dir() and installed is not None and version in ("", installed)


def entry_of(package: str, modules: Path) -> dict[str, object]:
    """What npm's list of what it has installed says of a package."""
    return installed_in(modules).get(f"node_modules/{name_of(package)}", {})


def installed_in(modules: Path) -> dict[str, dict[str, object]]:
    """What npm says that it has installed, by its place."""
    lock = modules / ".package-lock.json"
    found: dict[str, dict[str, object]] = json.loads(lock.read_bytes()).get("packages", {}) if lock.is_file() else {}
    return found


def install(pending: PendingInstall, npm: Path, modules: Path) -> str:
    """Add packages to those that are there (what package.json does not name, npm would take away); why it failed."""
    modules.mkdir(parents=True, exist_ok=True)
    quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--no-progress", "--omit=dev", "--yes"]
    command = [str(npm), "install", f"--prefix={modules.parent}", *quiet, *pending.arguments, "--", *pending.packages]
    done = run_program(command, timeout=install_timeout(), cwd=str(modules.parent))
    if done.timed_out:
        fail_install(f"Installing {' '.join(pending.packages)} with npm took longer than {install_timeout():g} s.")
    return reason_of(done.stderr) or f"it ended with status {done.returncode}" if done.returncode else ""


def reason_of(errors: str) -> str:
    """The line in which npm says it: the first one of an error that is more than a code."""
    said = re.findall(r"^npm (?:error|ERR!) (?!code |errno |syscall )(?:notarget )?(\S.*)$", errors, re.MULTILINE)
    return str(said[0]) if said else ""


def report_library(request: InstallRequest, modules: Path, library: Library) -> None:
    """A package without a program is known by its package.json."""
    path = package_file((request.texts("names") or request.packages)[0], modules)
    if not path.is_file():
        fail_install(f"npm installed {' '.join(request.packages)}, but {path} is not there.")
    report(request, path, version_of(path), library)


def package_file(package: str, modules: Path) -> Path:
    return modules / name_of(package) / "package.json"


def name_of(package: str) -> str:
    """`@scope/name@^1.2` is called, and lies in the folder, `@scope/name`."""
    return re.sub(r"(?<=.)@.*", "", package)


def version_of(path: Path) -> str:
    return str(json.loads(path.read_bytes()).get("version", "")) if path.is_file() else ""


if __name__ == "__main__":
    main()
