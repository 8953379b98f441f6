"""Two machines with one database, the second of which was given nothing but its environment."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.databases import own_database
from tests.forked import CommandLine, run_command
from tests.suite.packages import missing
from tests.suite.postgres import cluster
from tests.webserver.server import CHECKOUT, Server, Visitor, environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("postgresql" in missing(), reason="needs PostgreSQL's programs"),
    pytest.mark.once,
]
SIGN = "from django.core.signing import Signer; print('signed', Signer(salt='archivebox.replay').signature('a page'))"
"""What `replay/capability.py` does with an address."""


@dataclass
class Done:
    code: int
    said: str


def archivebox(folder: Path, *words: str, **more: str) -> Done:
    """Type a command on the machine that has this folder, and no database but that of its environment."""
    done = run_command(CommandLine(words, environment(folder, **more), CHECKOUT), b"", timeout=120)
    return Done(done.code, (done.out + done.err).decode())


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with cluster() as made:
        yield made.url


@pytest.fixture
def database(server: str) -> str:
    return own_database(server)


def on(database: str, folder: Path) -> dict[str, str]:
    return {"DATABASE_URL": database, "MACHINE_ID": f"the machine of {folder.name}"}


@pytest.fixture
def first(database: str, tmp_path: Path) -> Path:
    """The data folder of the machine that began the collection."""
    folder = tmp_path / "first"
    done = archivebox(folder, "init", **on(database, folder))
    assert done.code == 0, done.said
    return folder


def secrets_of(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "run/secret-key").read_bytes(), (folder / "keys/signing-key.pem").read_bytes()


def test_an_empty_folder_becomes_a_data_folder_of_the_collection(database: str, first: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    assert archivebox(second, "status", **on(database, second)).code == 0
    assert secrets_of(second) == secrets_of(first)
    assert {path.name for path in (second / "keys").iterdir()} == {path.name for path in (first / "keys").iterdir()}
    assert all(path.stat().st_mode & 0o077 == 0 for path in (second / "keys").iterdir())
    listed = archivebox(second, "machine", "list", "--json", **on(database, second)).said
    assert listed.count('"type"') == 2, listed


def test_a_folder_with_other_files_does_not_become_one(database: str, first: Path, tmp_path: Path) -> None:
    del first
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").write_text("Dear Ada")
    done = archivebox(home, "status", **on(database, home))
    assert "There is no collection" in done.said
    assert [path.name for path in home.iterdir()] == ["letter.txt"]


def test_a_collection_is_not_begun_by_a_command_that_needs_one(database: str, tmp_path: Path) -> None:
    folder = tmp_path / "nobodys"
    assert "There is no collection" in archivebox(folder, "status", **on(database, folder)).said
    assert not folder.exists()


def test_keys_that_an_older_version_has_made_on_each_machine_become_one(
    database: str, first: Path, tmp_path: Path
) -> None:
    second = tmp_path / "second"
    (second / "run").mkdir(parents=True)
    (second / "run/secret-key").write_text("its own\n")
    assert archivebox(second, "status", **on(database, second)).code == 0
    assert secrets_of(second) == secrets_of(first)


def test_keys_are_encrypted_where_the_environment_has_a_key(database: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert archivebox(first, "init", **on(database, first), SECRET_KEY="long and random").code == 0
    with psycopg.connect(database) as asking:
        stored = asking.execute("SELECT string_agg(content, ' ') FROM machine_sharedsecret WHERE is_encrypted")
        content = str(stored.fetchone())
    assert "PRIVATE KEY" not in content
    assert (first / "run/secret-key").read_text().strip() not in content
    assert "Set SECRET_KEY" in archivebox(second, "status", **on(database, second)).said
    assert "another SECRET_KEY" in archivebox(second, "status", **on(database, second), SECRET_KEY="other").said
    assert archivebox(second, "status", **on(database, second), SECRET_KEY="long and random").code == 0
    assert secrets_of(second) == secrets_of(first)
    for replaced in ({"SECRET_KEY": "replaced"}, {}):
        done = archivebox(second, "status", **on(database, second), **replaced)
        assert (done.code, "SECRET_KEY" in done.said) == (2, True), "of a machine that has joined, too"
    assert archivebox(second, "status", **on(database, second), SECRET_KEY="long and random").code == 0


def test_a_database_of_a_newer_version_is_refused(database: str, first: Path, tmp_path: Path) -> None:
    with psycopg.connect(database) as changing:
        changing.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('core', '9999_newer', now())")
    for folder in (first, tmp_path / "second"):
        done = archivebox(folder, "status", **on(database, folder))
        assert (done.code, "newer version of ArchiveBox" in done.said) == (2, True), done.said
        assert "Upgrade this machine" in done.said


def test_who_logs_in_at_one_web_server_is_logged_in_at_the_other(database: str, first: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    assert archivebox(second, "status", **on(database, second)).code == 0
    with Server(first, on(database, first)) as one, Server(second, on(database, second)) as other:
        here = Visitor(one)
        assert here.post(one.link()).status == 302
        there = Visitor(other, here.jar)
        assert there.get("/admin/").status == 200, "the session is known"
        printed = archivebox(first, "manage", "login_link", **on(database, first)).said
        link = "/login/link/" + printed.strip().rpartition("/login/link/")[2]
        assert Visitor(other).post(link).status == 302, "the link, too"
        assert Visitor(one).get(link).status == 403, "and is used up everywhere"


def test_addresses_of_archived_pages_are_signed_alike(database: str, first: Path, tmp_path: Path) -> None:
    signed = set()
    for folder in (first, tmp_path / "second"):
        done = archivebox(folder, "manage", "shell", "-c", SIGN, **on(database, folder))
        signed.add(done.said.rpartition("signed ")[2])
        assert done.code == 0, done.said
    assert len(signed) == 1


def test_a_machine_with_a_plugin_of_its_own_says_so(database: str, first: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    (second / "plugins/mine").mkdir(parents=True)
    (second / "plugins/mine/on_Snapshot__10_note.sh").write_text("exit 0\n")
    archivebox(first, "doctor", **on(database, first))
    done = archivebox(second, "doctor", "--json", **on(database, second))
    assert (done.code, "): mine." in done.said) == (0, True), done.said
    listed = archivebox(first, "machine", "list", "--json", **on(database, first)).said
    assert listed.count("): mine") == 2, listed
    (second / "plugins/mine/on_Snapshot__10_note.sh").unlink()
    assert "has the plugins of the others" in archivebox(second, "doctor", **on(database, second)).said


def test_settings_are_those_of_all_machines_and_one_may_differ(database: str, first: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"

    def timeout(folder: Path) -> str:
        return archivebox(folder, "config", "get", "TIMEOUT", **on(database, folder)).said.rpartition('"value":')[2]

    set_ = archivebox(first, "config", "set", "TIMEOUT=90", **on(database, first))
    assert '"places":["the settings of all machines"]' in set_.said
    assert "90" in timeout(second)
    (second / "ArchiveBox.conf").write_text("MAX_DEPTH = 3\n")
    assert archivebox(second, "config", "share", **on(database, second)).code == 0
    assert (second / "ArchiveBox.conf").read_text().strip() == ""
    listed = archivebox(first, "config", "explain", "MAX_DEPTH", **on(database, first)).said
    assert '"fleet"' in listed, listed
    here = ("config", "set", "--machine", "here")
    assert archivebox(second, *here, "TIMEOUT=7", **on(database, second)).code == 0
    assert ("7" in timeout(second), "90" in timeout(first)) == (True, True)
    refused = archivebox(second, *here, "BASE_URL=https://archive.example.org", **on(database, second))
    assert (refused.code, "is read before the row of a machine" in refused.said) == (2, True)


SIGN_PAGE = """
from pathlib import Path; from uuid import UUID
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.evidence.signature import sign
folder = DATA_FOLDER.users / "ada"
(folder / "hashes").mkdir(parents=True)
(folder / "hashes/hashes.json").write_text("[]")
sign(folder, Path("{keys}"), UUID(int=1), "https://example.org/")
"""
CHECK_PAGE = """
from uuid import UUID
from archivebox.config.settings import DATA_FOLDER
from archivebox.core.evidence.signature import check
print(check(DATA_FOLDER.users / "ada", b"[]", UUID(int=1), DATA_FOLDER.keys).sentence)
"""


def test_a_page_signed_on_one_machine_is_verified_on_the_other(database: str, first: Path, tmp_path: Path) -> None:
    second, foreign = tmp_path / "second", tmp_path / "foreign"
    second.mkdir()
    (second / "users").symlink_to(first / "users")
    for keys in (first / "keys", foreign):
        signing = archivebox(first, "manage", "shell", "-c", SIGN_PAGE.format(keys=keys), **on(database, first))
        assert signing.code == 0, signing.said
        if keys == foreign:
            unknown = archivebox(second, "manage", "shell", "-c", CHECK_PAGE, **on(database, second)).said
            assert "does not belong to this collection" in unknown
            (public,) = (path for path in foreign.iterdir() if path.name != "signing-key.pem")
            (first / "keys/a key of a friend, which was added when both machines had joined.pem").write_text(
                public.read_text()
            )
            # As a worker does every ten seconds.
            beat = "from archivebox.workers.queue.fleet import record_heartbeat; record_heartbeat()"
            assert archivebox(first, "manage", "shell", "-c", beat, **on(database, first)).code == 0
        said = archivebox(second, "manage", "shell", "-c", CHECK_PAGE, **on(database, second)).said
        assert "is valid." in said, said
        shutil.rmtree(first / "users/ada")
