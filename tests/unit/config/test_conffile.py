"""ArchiveBox.conf is read tolerantly and changed in place."""

import stat
import threading
from pathlib import Path

import pytest

from archivebox.config.conffile import ConfError, read_conf, write_conf

WRITTEN = """\
# mine
[SERVER_CONFIG]
timeout = 30
; old
USER_AGENT="Mozilla/5.0 (X; Y) = # ;"

[ARCHIVING]
URL_DENYLIST = one
    two
EMPTY =
TIMEOUT=60
"""


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "ArchiveBox.conf"
    path.write_text(WRITTEN)
    return path


def test_what_people_write_is_read(conf: Path) -> None:
    assert read_conf(conf) == {
        "TIMEOUT": "60",
        "USER_AGENT": "Mozilla/5.0 (X; Y) = # ;",
        "URL_DENYLIST": "one\ntwo",
        "EMPTY": "",
    }
    conf.write_bytes(b"\xef\xbb\xbfA = 1\r\nB=2\r\n")
    assert read_conf(conf) == {"A": "1", "B": "2"}
    assert read_conf(conf.with_name("missing")) == {}


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"TIMEOUT 60", "line 1"),
        (b"A=1\n= 5\n", "line 2"),
        (b"A B=1", "line 1"),
        (b"    indented", "line 1"),
        (b"\xff\xfe", "UTF-8"),
        (b"<html>", "line 1"),
    ],
)
def test_a_line_that_is_no_setting_is_named(conf: Path, content: bytes, match: str) -> None:
    conf.write_bytes(content)
    with pytest.raises(ConfError, match=match):
        read_conf(conf)
    with pytest.raises(ConfError, match=match):
        write_conf(conf, {"A": "2"})
    assert conf.read_bytes() == content


def test_a_change_leaves_everything_else_as_it_was(conf: Path) -> None:
    write_conf(conf, {"timeout": "90", "URL_DENYLIST": None, "NEW": "x"})
    assert conf.read_text() == (
        '# mine\n[SERVER_CONFIG]\n; old\nUSER_AGENT="Mozilla/5.0 (X; Y) = # ;"\n\n[ARCHIVING]\nEMPTY =\n'
        "TIMEOUT = 90\nNEW = x\n"
    )
    write_conf(conf, {"NOT_THERE": None})
    assert read_conf(conf)["NEW"] == "x"


VALUES = (
    "", " ", "a", " a ", '"', '"a"', "'a'", "''", "a\nb", "[1]", "#a", "= b", '{"a": "b"}', "日本", "\x85a", "a\u2028b",
)  # fmt: skip


@pytest.mark.parametrize("value", [*VALUES, "a\tb", "%(x)s ${y}", "x" * 100_000])
def test_what_is_written_is_read_again(conf: Path, value: str) -> None:
    write_conf(conf, {"X": value, "Y": value})
    assert read_conf(conf)["X"] == value
    write_conf(conf, {"X": value + "z", "TIMEOUT": value})
    found = read_conf(conf)
    assert (found["X"], found["TIMEOUT"], found["Y"]) == (value + "z", value, value)


@pytest.mark.parametrize("value", ["a\0", "a\rb", "\x1b[0m", "\ud800", "a\n\nb", "a\n b", "a\n#b", "a\n"])
def test_what_the_file_cannot_hold_is_refused_and_nothing_written(conf: Path, value: str) -> None:
    with pytest.raises(ValueError, match=r"^X "):
        write_conf(conf, {"TIMEOUT": "1", "X": value})
    assert conf.read_text() == WRITTEN


@pytest.mark.parametrize("key", ["", "A B", "A=B", "[A]", "A\n", "Ä", "#A"])
def test_a_key_that_is_none_is_refused(conf: Path, key: str) -> None:
    with pytest.raises(ValueError, match="not a setting"):
        write_conf(conf, {key: "1"})


def test_modes_and_links_stay(conf: Path, tmp_path: Path) -> None:
    write_conf(tmp_path / "new.conf", {"A": "1"})
    assert stat.S_IMODE((tmp_path / "new.conf").stat().st_mode) == 0o600
    conf.chmod(0o640)
    (tmp_path / "link").symlink_to(conf)
    write_conf(tmp_path / "link", {"A": "1"})
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE(conf.stat().st_mode) == 0o640
    assert read_conf(conf)["A"] == "1"


def test_two_writers_take_turns(conf: Path) -> None:
    threads = [threading.Thread(target=write_conf, args=(conf, {f"KEY_{number}": "1"})) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {f"KEY_{number}" for number in range(12)} <= read_conf(conf).keys()


def test_what_is_in_place_of_the_file_is_named(conf: Path, tmp_path: Path) -> None:
    conf.unlink()
    conf.mkdir()
    with pytest.raises(ConfError, match=r"ArchiveBox.conf cannot be read: Is a directory"):
        read_conf(conf)
    conf.rmdir()
    conf.symlink_to(tmp_path / "gone")
    with pytest.raises(ConfError, match=r"is a link to .*gone, which is not there"):
        read_conf(conf)


def test_a_file_is_read_again_when_it_has_changed(conf: Path) -> None:
    for value in ("60", "61", "9"):
        conf.write_text(f"TIMEOUT = {value}\n")
        assert [read_conf(conf)["TIMEOUT"] for _ in range(2)] == [value, value]
