"""The spawn log: what was about to start is known, whatever was torn."""

from pathlib import Path

from archivebox.lib.processes import ProcessIdentity, SpawnEntry, SpawnLog

HERE = ProcessIdentity("boot", 1, 2, 3)


def test_entries_come_in_order_with_rows_and_identities(tmp_path: Path) -> None:
    log = SpawnLog(tmp_path / "log.jsonl")
    log.intent("a", {"cmd": ["x\ny", "ü"], "timeout": None})
    log.intent("b", {"cmd": []})
    log.started("a", HERE)
    log.close()
    assert SpawnLog.read(log.path) == [
        SpawnEntry("a", {"cmd": ["x\ny", "ü"], "timeout": None}, HERE),
        SpawnEntry("b", {"cmd": []}, None),
    ]


def test_a_torn_line_costs_itself_alone(tmp_path: Path) -> None:
    log = SpawnLog(tmp_path / "log.jsonl")
    log.intent("a", {"n": 1})
    with log.path.open("ab") as file:
        file.write(b'\n{"intent": "torn", "row": {"n"')
    log.started("a", HERE)
    log.intent("b", {"n": 2})
    whole = log.path.read_bytes()
    log.close()
    assert SpawnLog.read(log.path) == [SpawnEntry("a", {"n": 1}, HERE), SpawnEntry("b", {"n": 2}, None)]
    for length in range(len(whole)):
        log.path.write_bytes(whole[:length])
        assert {entry.process_id for entry in SpawnLog.read(log.path)} <= {"a", "b"}


def test_what_is_no_entry_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'\n[1]\n{"intent": 5}\n\xff\n{}\n{"started": "s", "identity": ["boot", 1]}\n')
    assert SpawnLog.read(path) == [SpawnEntry("s", {}, None)]


def test_a_start_without_intent_is_kept(tmp_path: Path) -> None:
    log = SpawnLog(tmp_path / "log.jsonl")
    log.intent("a", {})
    log.truncate()
    log.started("a", HERE)
    log.close()
    assert SpawnLog.read(log.path) == [SpawnEntry("a", {}, HERE)]


def test_no_log_no_entries(tmp_path: Path) -> None:
    assert SpawnLog.read(tmp_path / "none") == []
