"""Owns the names of migrations that others have replaced.

A new database is made from few migrations (decision 0140). One that has had all of the former ones goes on: Django then
counts those that replace them as applied. Where only some were applied, nothing leads from there to the present tables.
"""

from collections.abc import Iterable

_REPLACED = {
    ("accounts", "0001_squashed_0005_login_link"): """
        0001_initial 0002_address 0003_identities 0004_second_factors 0005_login_link
    """,
    ("core", "0001_squashed_0018_unchanged_check"): """
        0001_initial 0002_page_facts 0003_lists 0004_notes 0005_visibility 0006_crawl_pages 0007_looks
        0008_visible_indexes 0009_bookmarked_at 0010_quality 0011_list_indexes 0013_state_with_fence
        0014_seeds 0015_cancelled_begun 0016_sorting 0017_measured_replay 0018_unchanged_check
    """,
    ("core", "0019_tag_indexes"): "0012_near_lists",
    ("crawls", "0001_squashed_0008_schedule_misconfigured"): """
        0001_initial 0002_hosts 0003_refused_and_presets 0004_schedules 0005_disabled_accounts 0006_visibility
        0007_run_indexes 0008_schedule_misconfigured
    """,
    ("jobs", "0001_squashed_0010_inspect"): """
        0001_initial 0002_imports 0003_visibility 0004_sign 0005_compare 0006_list_indexes 0007_own
        0008_measure 0009_import_pages 0010_inspect
    """,
    ("machine", "0001_squashed_0008_machine_removed"): """
        0001_initial 0002_declared 0003_process_lists 0004_process_commit_number 0005_machine_state
        0006_periodic_task 0007_shared_secret 0008_machine_removed
    """,
    ("search", "0001_squashed_0003_share_links"): """
        0001_initial 0002_saved_searches 0003_share_links
    """,
}
"""By app and name of the migration that replaces them."""


def replaced_by(app: str, name: str) -> list[tuple[str, str]]:
    """What a migration lists as ``replaces``."""
    return [(app, former) for former in _REPLACED[app, name].split()]


def replaced_migrations() -> frozenset[str]:
    """``app.name`` of all of them; a new database is said to have had them, too."""
    return frozenset(f"{app}.{former}" for app, name in _REPLACED for app, former in replaced_by(app, name))


def missing_migrations(applied: Iterable[str]) -> list[str]:
    """Those (``app.name``) that were not applied although others were that the same migration replaces."""
    known = frozenset(applied)
    groups = [[f"{app}.{former}" for app, former in replaced_by(app, name)] for app, name in _REPLACED]
    return [former for group in groups if not known.isdisjoint(group) for former in group if former not in known]
