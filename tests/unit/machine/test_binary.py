import re
from pathlib import Path

import pytest
from django.db import IntegrityError

from archivebox.base_models.users import system_user
from archivebox.contract.binaries import BinaryRequest, parse_binaries
from archivebox.machine.binary import binary_paths
from archivebox.machine.models import Binary, Machine
from archivebox.storage.layout import DataFolder
from tests.factories import row, shell
from tests.status_triggers import arrange

pytestmark = pytest.mark.usefixtures("collection")
WGET = BinaryRequest("wget", ("env", "apt"), {"apt": {"packages": ["wget"]}})


def again(binary: Binary) -> Binary:
    return Binary.objects.get(pk=binary.pk)


def settled(status: str, **fields: str) -> Binary:
    binary = Binary.want(WGET)
    arrange(Binary.objects.filter(pk=binary.pk), status=status, retry_at=None, **fields)
    return again(binary)


def test_wanted_once_per_machine_and_queued() -> None:
    binary = Binary.want(WGET)
    assert Binary.want(WGET) == binary
    assert (binary.status, binary.binproviders, binary.providers) == ("queued", "env,apt", ("env", "apt"))
    assert binary.overrides == {"apt": {"packages": ["wget"]}}
    assert binary.retry_at is not None
    with pytest.raises(IntegrityError):
        Binary.objects.create(machine=Machine.current(), name="wget", created_by=system_user())


def test_machines_have_their_own() -> None:
    Binary.want(WGET)
    Binary.objects.create(machine=Machine.objects.create(), name="wget", created_by=system_user())
    assert Binary.objects.count() == 2
    assert Binary.objects.all().here().count() == 1


def test_the_folder(collection: DataFolder) -> None:
    binary = Binary.want(WGET)
    assert re.fullmatch(rf"machines/{Machine.current().pk}/binaries/wget/{binary.pk}", binary.output_dir)
    binary.transition("start")
    assert not (collection.root / binary.output_dir).exists()  # it is made when a hook of it starts


@pytest.mark.parametrize(("status", "after"), [("failed", "queued"), ("succeeded", "succeeded")])
def test_asked_for_otherwise(status: str, after: str) -> None:
    """Who failed is asked again when others may have it; what is there stays."""
    settled(status)
    binary = Binary.want(BinaryRequest("wget", ("env", "apt", "brew")))
    assert (binary.status, binary.binproviders, binary.overrides) == (after, "env,apt,brew", {})
    assert (again(binary).retry_at is not None) == (after == "queued")


def test_there_is_a_file(tmp_path: Path) -> None:
    program = tmp_path / "wget"
    binary = settled("succeeded", abspath=str(program))
    assert not binary.is_there
    program.touch()
    assert binary.is_there
    assert binary_paths(Machine.current().pk) == {"wget": str(program)}
    assert not settled("failed", abspath=str(program)).is_there


class TestRecords:
    FOUND = {"name": "wget", "abspath": "/usr/bin/wget", "version": "1.21", "sha256": "ab", "binprovider": "apt"}

    def test_what_an_install_hook_found(self) -> None:
        binary = Binary.want(WGET)
        assert Binary.from_jsonl(dict(self.FOUND), {"binary": binary, "process": row()}) == binary
        kept = again(binary)
        assert (kept.abspath, kept.version, kept.sha256, kept.binprovider) == ("/usr/bin/wget", "1.21", "ab", "apt")
        assert (kept.status, kept.binproviders) == ("queued", "env,apt")  # its worker settles it

    def test_a_provider_patches_only_what_it_was_asked_for(self) -> None:
        other = Binary.want(BinaryRequest("curl"))
        assert Binary.from_jsonl(dict(self.FOUND), {"binary": other, "process": row()}) is None
        assert again(other).abspath == ""

    def test_from_any_other_hook_it_is_a_wish(self) -> None:
        binary = settled("succeeded", abspath="/usr/bin/wget")
        claim = {"name": "wget", "abspath": "/tmp/evil", "binproviders": "env,apt"}
        assert Binary.from_jsonl(claim, {"process": row()}) == binary
        assert again(binary).abspath == "/usr/bin/wget"

    @pytest.mark.parametrize("file_name", ["binaries.jsonl", "dependencies.jsonl"])
    def test_lines_of_a_plugin(self, tmp_path: Path, file_name: str) -> None:
        path = tmp_path / file_name
        path.write_text(
            '{"type": "Binary", "name": "node", "bin_providers": "env,npm", "overrides": {"npm": {"a": 1}}}\n'
        )
        (request,), warnings = parse_binaries(path)
        binary = Binary.want(request)
        assert (binary.name, binary.providers, warnings) == ("node", ("env", "npm"), ())

    def test_no_name(self) -> None:
        assert Binary.from_jsonl({}) is None


def test_cleanup_ends_its_install_hooks() -> None:
    binary = Binary.want(WGET)
    binary.transition("start")
    hook = shell("setsid sleep 60 & wait")
    hook.process_type, hook.binary_id = "hook", binary.pk
    hook.launch(background=True)
    binary.transition("succeed", message="")
    assert hook.poll() is not None
    assert again(binary).status == "succeeded"
