"""Which backups are kept."""

from pathlib import Path

from archivebox.backup.destination import superfluous


def made(*moments: str) -> list[Path]:
    return [Path("/dest", f"{moment}T04-00-00Z" if "T" not in moment else moment) for moment in moments]


def removed(moments: list[str], **counts: int) -> list[str]:
    return [
        one.name[:10] if one.name.endswith("T04-00-00Z") else one.name for one in superfluous(made(*moments), counts)
    ]


def test_the_newest_of_each_of_the_last_days_is_kept() -> None:
    days = ["2026-11-20", "2026-11-24", "2026-11-25", "2026-11-26"]
    assert removed(days, daily=3) == ["2026-11-20"]
    assert removed(["2026-11-25", "2026-11-26T01-00-00Z", "2026-11-26"], daily=2) == ["2026-11-26T01-00-00Z"]


def test_days_without_a_backup_do_not_count() -> None:
    assert removed(["2025-01-01", "2026-11-01", "2026-11-26"], daily=3) == []


def test_weeks_are_those_of_the_iso_calendar_also_about_new_year() -> None:
    assert removed(["2026-12-31", "2027-01-03", "2027-01-04"], weekly=2) == ["2026-12-31"]


def test_one_rule_is_enough_to_keep_a_backup() -> None:
    moments = ["2024-05-01", "2025-05-01", "2026-10-01", "2026-11-25", "2026-11-26"]
    assert removed(moments, last=1, monthly=2, yearly=3) == ["2026-11-25"]
    assert removed(moments, daily=1) == moments[:-1]


def test_the_newest_is_kept_whatever_is_said() -> None:
    assert removed(["2026-11-25", "2026-11-26"], last=0) == ["2026-11-25"]
