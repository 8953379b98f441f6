"""Hooks in bash and JavaScript: what `plugins/base` gives them, and the bundled ones, which need no package."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from archivebox.machine.program_report import ProgramReport
from tests.plugins_bundled.browser.chain import Crawl
from tests.site.serve import Site

PLUGINS = Path(__file__).parents[2] / "archivebox" / "plugins"
GIT, SEO = PLUGINS / "git" / "on_Snapshot__62_git.sh", PLUGINS / "seo" / "on_Snapshot__38_seo.js"
RUNNERS = {".sh": "/bin/bash", ".js": "node"}
TEXT = 'a "quote", a \\ backslash,\na line, a\ttab, ü and 漢'

BASH = """. "$HOOK_BASE/hook.sh" "$@"
"""
NODE = """const hook = require(process.env.HOOK_BASE + "/hook.js");
"""
ENDINGS = [
    ("succeeded", "succeeded", 0),
    ("noresults", "noresults", 0),
    ("skipped", "skipped", 10),
    ("failed", "failed", 0),
    ("misconfigured", "failed", 1),
    ("try_again", "failed", 1),
]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as running:
        yield running


def environment(**more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOOK_BASE": str(PLUGINS / "base"), "LANG": "C.UTF-8"} | more


def run(script: Path, folder: Path, *arguments: str, **settings: str) -> tuple[int, list[dict[str, Any]], str]:
    """Exit status, records and standard error."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [RUNNERS[script.suffix], str(script), *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment(**settings), capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def written(folder: Path, language: str, body: str) -> Path:
    script = folder / f"hook.{language}"
    script.write_text((BASH if language == "sh" else NODE) + body)
    return script


@pytest.mark.parametrize("language", ["sh", "js"])
@pytest.mark.parametrize(("ending", "status", "code"), ENDINGS)
def test_each_ending_has_its_record_and_status(
    tmp_path: Path, language: str, ending: str, status: str, code: int
) -> None:
    body = f'{ending} "$opt_url"' if language == "sh" else f"hook.{ending.replace('_a', 'A')}(hook.options.url)"
    ended, records, stderr = run(written(tmp_path, language, body), tmp_path, f"--url={TEXT}", "--depth", "1")
    assert ended == code
    said = {"type": "ArchiveResult", "status": status, "output_str": TEXT}
    assert records == [said | ({"retry": "later"} if ending == "try_again" else {})], stderr
    assert status != "failed" or code == 0 or TEXT in stderr


@pytest.mark.parametrize("language", ["sh", "js"])
@pytest.mark.parametrize("ending", ["failed", "try_again"])
def test_a_failure_may_say_its_reason(tmp_path: Path, language: str, ending: str) -> None:
    called = {"failed": 'failed("No.", undefined, "no_page")', "try_again": 'tryAgain("No.", "no_page")'}[ending]
    body = f'{ending} "No." no_page' if language == "sh" else f"hook.{called}"
    _, records, _ = run(written(tmp_path, language, body), tmp_path)
    assert [record["reason"] for record in records] == ["no_page"]


@pytest.mark.parametrize("language", ["sh", "js"])
def test_arguments_settings_and_records(tmp_path: Path, language: str) -> None:
    body = {
        "sh": 'ready; waiting; found "$opt_url"; found "$opt_snapshot_id-$(seconds X)-$(setting NO y)"\n'
        'list WORDS "[]" >&2',
        "js": "const {options: o, ready, waiting, found, seconds, setting, log} = hook;"
        "ready(); waiting(); found(o.url); found(`${o.snapshot_id}-${seconds('X')}-${setting('NO', 'y')}`);"
        "log(JSON.parse(setting('WORDS')).join('\\n'))",
    }[language]
    words = ["--mirror", "--a=b,c d", "[x]"]
    script = written(tmp_path, language, body)
    code, records, stderr = run(script, tmp_path, "--url", "http://a/", "--snapshot-id=s", WORDS=json.dumps(words))
    assert (code, stderr.splitlines()) == (0, words)
    assert records == [
        {"type": "Ready"},
        {"type": "Waiting"},
        *({"type": "Snapshot", "url": url} for url in ("http://a/", "s-60-y")),
    ]


@pytest.mark.parametrize(("ending", "code"), [("exit 3", 3), ("kill -9 $$", -9)])
def test_a_program_of_a_shell_hook_is_on_record(tmp_path: Path, ending: str, code: int) -> None:
    body = f"run sh -c 'echo \"to its file\"; {ending}' 'a \"b' >out.txt\nlog $?\n"
    _, records, stderr = run(written(tmp_path, "sh", body), tmp_path)
    first, last = map(ProgramReport.read, records)
    assert first.cmd == [shutil.which("sh"), "-c", f'echo "to its file"; {ending}', 'a "b'] == last.cmd
    assert (first.pwd, first.exit_code, last.exit_code) == (str(tmp_path), None, code)
    assert first.key is not None
    assert (first.key, first.key.version, first.pid) == (last.key, 7, last.pid)
    assert abs((first.key.int >> 80) / 1000 - time.time()) < 60
    assert first.started_at is not None
    assert last.ended_at is not None
    assert first.started_at <= last.ended_at
    assert (tmp_path / "out.txt").read_text() == "to its file\n"
    assert stderr.splitlines()[-1] == str(code if code > 0 else 128 - code)


@pytest.mark.parametrize("language", ["sh", "js"])
def test_told_to_stop_it_ends_with_its_program_and_says_so(tmp_path: Path, language: str) -> None:
    body = {
        "sh": "on_stop 'kill $program; succeeded stopped'\nready\nrun sleep 300",
        "js": "hook.onStop(() => hook.succeeded('stopped')); hook.ready(); setInterval(() => {}, 1000)",
    }[language]
    command = [RUNNERS[f".{language}"], str(written(tmp_path, language, body))]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True, cwd=tmp_path) as hook:
        assert hook.stdout is not None
        assert json.loads(hook.stdout.readline()) == {"type": "Ready"}
        time.sleep(0.1)
        hook.send_signal(signal.SIGTERM)
        records = list(map(json.loads, hook.stdout))
        assert [said["output_str"] for said in records if said["type"] == "ArchiveResult"] == ["stopped"]
        assert hook.wait(90) == 0


def test_git_mirrors_a_repository(tmp_path: Path, site: Site) -> None:
    code, records, stderr = run(GIT, tmp_path / "git", f"--url={site.url_for('/git/repo.git')}", "--snapshot-id=s")
    assert (code, records[-1]["status"], records[-1]["output_str"]) == (0, "succeeded", "repo.git"), stderr
    log = ["git", "-C", str(tmp_path / "git" / "repo.git"), "log", "--oneline", "main"]
    assert len(subprocess.run(log, capture_output=True, text=True, check=True).stdout.splitlines()) == 3
    assert [path.name for path in (tmp_path / "git").iterdir()] == ["repo.git"]


def test_git_says_what_there_is_not(tmp_path: Path, site: Site) -> None:
    code, records, _ = run(GIT, tmp_path / "git", f"--url={site.url_for('/no/such.git')}")
    assert (code, records[-1]["status"]) == (0, "noresults")
    assert list((tmp_path / "git").iterdir()) == []
    code, records, _ = run(GIT, tmp_path / "git", "--url=http://127.0.0.1:9/x.git")
    assert (code, records[-1]["retry"]) == (1, "later"), "nobody answers"
    code, records, _ = run(GIT, tmp_path / "git", "--url=http://127.0.0.1:9/x.git", GIT_BINARY="/nowhere/git")
    assert (code, records[-1]["status"]) == (1, "failed")


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not on this machine")
def test_seo_keeps_the_head_of_the_page(tmp_path: Path, site: Site) -> None:
    with Crawl(tmp_path, TIMEOUT="30") as crawl:
        snapshot = crawl.snapshot("snapshot", site.url_for("/article"))
        assert snapshot.navigate().status == "succeeded"
        code, records, stderr = run(SEO, snapshot.folder / "seo", f"--url={snapshot.url}")
        assert (code, records[-1]["output_str"]) == (0, "seo.json"), stderr
        assert snapshot.json("seo/seo.json")["title"] == "On Keeping Pages - The Local Web"
        snapshot.close()
        code, records, _ = run(SEO, snapshot.folder / "seo", f"--url={snapshot.url}")
        assert (code, records[-1]["retry"]) == (1, "new_page"), "without a tab it waits for one"
