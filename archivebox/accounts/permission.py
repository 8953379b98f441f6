"""Owns the one question of every entrance: may this user, or token, do that, which rows may it see, who asks."""

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Exists, OuterRef, Q, QuerySet

from archivebox.accounts.roles import ALLOWED, Action, Role, actions_of, role_of
from archivebox.accounts.tokens import Token
from archivebox.base_models.users import SYSTEM
from archivebox.base_models.visibility import EVERYTHING, ViewerScope, VisibleRow, seen_by
from archivebox.core.archiveresult import ArchiveResult, ArchiveResultQuerySet
from archivebox.core.intake.request import MAX_URLS_AT_ONCE, Requester
from archivebox.core.progress.process_tree import process_is_seen
from archivebox.core.snapshot import Snapshot, SnapshotQuerySet
from archivebox.crawls.crawl import Crawl, CrawlQuerySet
from archivebox.crawls.schedule import CrawlSchedule
from archivebox.machine.process import Process, ProcessQuerySet

Who = User | AnonymousUser | Token


def may(who: Who, action: Action) -> bool:
    """Whether ``who`` may do ``action``; a token no more than its account and its scopes both allow."""
    return action in (who.actions if isinstance(who, Token) else actions_of(who))


def user_of(who: Who) -> User | AnonymousUser:
    """In whose name ``who`` acts."""
    return who.user if isinstance(who, Token) else who


def viewer_scope(who: Who) -> ViewerScope:
    """What ``who`` may see: what is private to others is for administrators, with a token only if it may administer.

    What is begun at the command line is done in the name of the system.
    """
    user = user_of(who)
    if may(who, Action.ADMINISTER) or user.get_username() == SYSTEM:
        return EVERYTHING
    return ViewerScope() if role_of(user) is Role.PUBLIC else ViewerScope(user.pk)


def visible_snapshots(who: Who) -> SnapshotQuerySet:
    """The Snapshots of lists and searches: those that ``who`` sees and nobody removed, if ``who`` may see lists."""
    rows: SnapshotQuerySet = seen_by(viewer_scope(who), Snapshot.objects.kept())
    return rows if may(who, Action.LIST) else rows.none()


def reachable_snapshots(who: Who) -> SnapshotQuerySet:
    """The Snapshots that ``who`` reaches by their address; those removed, too, for who may bring them back."""
    rows = Snapshot.objects.all() if may(who, Action.EDIT) else Snapshot.objects.kept()
    return seen_by(viewer_scope(who), rows)


def visible_results(who: Who) -> ArchiveResultQuerySet:
    """The results of Snapshots in :func:`visible_snapshots`."""
    rows, seen = results_among(who)
    return rows.filter(seen)


def results_among(who: Who) -> tuple[ArchiveResultQuerySet, Q]:
    """All results, and what is true of those in :func:`visible_results`: for lists that look through so many at a time.

    Asked of each that is looked at: to find the pages first would read all of them.
    """
    return ArchiveResult.objects.all(), Q(Exists(visible_snapshots(who).filter(pk=OuterRef("snapshot_id"))))


def visible_crawls(who: Who) -> CrawlQuerySet:
    """The Crawls that ``who`` sees."""
    rows: CrawlQuerySet = Crawl.objects.select_related("created_by")
    return seen_by(viewer_scope(who), rows)


def visible_schedules(who: Who) -> "QuerySet[CrawlSchedule]":
    """The schedules that ``who`` sees."""
    return seen_by(viewer_scope(who), CrawlSchedule.objects.select_related("created_by"))


def visible_processes(who: Who) -> ProcessQuerySet:
    """The processes that work, or worked, for nothing that is hidden from ``who``."""
    rows, seen = processes_among(who)
    return rows.filter(seen)


def processes_among(who: Who) -> tuple[ProcessQuerySet, Q]:
    """All processes, and what is true of those in :func:`visible_processes`: for lists, as :func:`results_among`."""
    return Process.objects.all(), process_is_seen(viewer_scope(who))


def may_show(who: Who, row: VisibleRow) -> bool:
    """Whether ``who`` may decide who else sees this row, which ``who`` sees: its owner may, and administrators."""
    scope = viewer_scope(who)
    return may(who, Action.EDIT) and (scope.is_whole or row.created_by_id == scope.account)


def is_visitor(who: Who) -> bool:
    """Whether ``who`` may add only because PUBLIC_ADD_VIEW lets everybody; an account of a viewer may, too."""
    return Action.ADD not in ALLOWED[role_of(user_of(who))]


def requester_of(who: Who, address: str = "") -> Requester:
    """``address``: the IP address that they ask from."""
    user = user_of(who)
    account = user if isinstance(user, User) else None
    if is_visitor(who):
        return Requester.visitor(account, viewer_scope(who), address)
    return Requester(account, viewer_scope(who), may(who, Action.ADMINISTER), MAX_URLS_AT_ONCE)
