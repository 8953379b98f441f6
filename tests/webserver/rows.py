"""Owns the rows and files that tests of pages look at; run it in a process with Django set up (``in_collection``)."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.utils import timezone

from archivebox.accounts.roles import Account
from archivebox.config.collection import open_collection
from archivebox.core.intake.add_urls import create_crawl
from archivebox.core.intake.request import CrawlRequest, Seed
from archivebox.core.models import ArchiveResult, Snapshot
from archivebox.lib.files import mimetype_of
from archivebox.machine.models import Machine, Process
from tests.site.pictures import png
from tests.status_triggers import arrange

NAME, PASSWORD = "eve", "correct horse battery"
SPY = b"""<!doctype html><meta charset="utf-8"><title>waiting</title><body><h1>Archived</h1><p id="out">-</p>
<script>
const said = {cookie: document.cookie};
const tries = [
  fetch("http://127.0.0.1:APP/health/", {credentials: "include"}).then(() => "reached", () => "blocked"),
  fetch("http://localhost:APP/add/", {credentials: "include", mode: "no-cors"}).then(() => "reached", () => "blocked"),
  fetch(location.href).then(() => "reached", () => "blocked"),
  new Promise(done => { const i = new Image(); i.onload = () => done("reached"); i.onerror = () => done("blocked");
    i.src = "http://127.0.0.1:APP/static/web/favicon.svg"; }),
  navigator.serviceWorker ? navigator.serviceWorker.register("spy.js")
    .then(() => "reached", () => "blocked") : "blocked",
];
try { said.parent = parent === window ? "none" : String(parent.document.title); } catch (e) { said.parent = "blocked"; }
Promise.all(tries).then(found => { said.tries = found; document.title = JSON.stringify(said); });
</script>"""


def make(app_port: str) -> str:
    """An administrator, a crawl that nobody runs, 70 snapshots, and results of the newest; JSON of their keys."""
    open_collection(create=True)
    user = User.objects.create_superuser(NAME)
    Account.objects.create(user=User.objects.create_user("reader"), role="editor")
    quick = PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1)  # Django's own takes 0.2 s of CPU
    User.objects.filter(username__in=[NAME, "reader"]).update(password=quick)
    seeds = [Seed(f"http://site{number}.example/story/{number}", f"Story {number}") for number in range(70)]
    crawl = create_crawl(seeds, CrawlRequest(tags=["news"], hold=True, visibility="public"), created_by=user)
    arrange(Snapshot.objects.filter(crawl=crawl), status="sealed", retry_at=None)
    for number in range(70):
        story = Snapshot.objects.filter(crawl=crawl, title=f"Story {number}")
        story.update(quality=75 + number % 7, measured_at=timezone.now(), size=number)
    snapshot = Snapshot.objects.filter(crawl=crawl).order_by("-pk")[0]
    other = Snapshot.objects.filter(crawl=crawl).order_by("-pk")[1]
    spy = SPY.replace(b"APP", app_port.encode())
    _result(snapshot, 50, "singlefile", "succeeded", {"singlefile.html": spy, "spy.js": b"1"})
    _result(snapshot, 51, "screenshot", "succeeded", {"screenshot.png": png(64, 96, "#c8b428")})
    _result(snapshot, 61, "wget", "failed", {}, reason="missing_binary:wget")
    _result(snapshot, 62, "media", "succeeded", {"clip.mp4": bytes(range(256)) * 4096, "<b>&.txt": b"odd name"})
    (snapshot.path / "media" / "out").symlink_to("/etc")
    (snapshot.path / ".hooks").mkdir()
    (snapshot.path / ".hooks" / "secret.log").write_text("not for readers")
    hook = _processes(snapshot)
    return json.dumps(
        {"crawl": str(crawl.pk), "snapshot": str(snapshot.pk), "other": str(other.pk), "hook": str(hook.pk),
         "folder": str(snapshot.path), "other_folder": str(other.path),
         "url": snapshot.url, "other_url": other.url}
    )  # fmt: skip


def _result(snapshot: Snapshot, step: int, plugin: str, status: str, files: dict[str, bytes], **more: Any) -> None:
    folder = snapshot.path / plugin
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    now = timezone.now()
    ArchiveResult.objects.create(
        snapshot=snapshot, plugin=plugin, hook_name=f"on_Snapshot__{step}_{plugin}.py", status=status, pwd=str(folder),
        output_files={name: {"size": len(data), "mimetype": mimetype_of(name)} for name, data in files.items()},
        output_size=sum(map(len, files.values())), start_ts=now - timedelta(seconds=3), end_ts=now, **more,
    )  # fmt: skip


def _processes(snapshot: Snapshot) -> Process:
    """A worker, its hook, the hook's program: of which only the worker runs, on another machine."""
    elsewhere = Machine.objects.create(hostname="elsewhere")
    now = timezone.now()
    worker = Process.objects.create(
        machine=elsewhere, process_type="worker", status="running", cmd=["python3", "-m", "archivebox"], pid=11,
        started_at=now,
    )  # fmt: skip
    hook = Process.objects.create(
        machine=Machine.current(), parent=worker, process_type="hook", status="exited", exit_code=3, pid=12,
        cmd=["python3", "on_Snapshot__61_wget.py", "--url=" + "x" * 80], stderr="could not find <wget>",
        started_at=now, ended_at=now, snapshot_id=snapshot.pk,
    )  # fmt: skip
    Process.objects.create(
        machine=Machine.current(), parent=hook, process_type="binary", status="exited", exit_code=-15, pid=13,
        cmd=["/usr/bin/wget"], started_at=now, ended_at=now, snapshot_id=snapshot.pk,
    )  # fmt: skip
    return hook
