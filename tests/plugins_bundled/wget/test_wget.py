"""The page as the server sends it."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from tests.site.serve import Site

if TYPE_CHECKING:
    from tests.plugins_bundled.wget.conftest import Run

    Wget = Callable[..., Run]

PLUGIN = Path(__file__).parents[3] / "archivebox" / "plugins" / "wget"


def warc_records(path: Path) -> list[tuple[str, str, bytes]]:
    """(type, URL, body) of each record; reading them all checks that the file is whole."""
    with path.open("rb") as file:
        return [
            (
                record.rec_type,
                record.rec_headers.get_header("WARC-Target-URI") or "",
                record.content_stream().read(),
            )
            for record in ArchiveIterator(file)
        ]


def test_a_page_is_saved_with_all_it_shows_as_copy_original_and_warc(wget: "Wget", site: Site) -> None:
    run = wget(site.url_for("/article"))

    page = str(run.result["output_str"])
    assert run.result["status"] == "succeeded"
    assert "On Keeping Pages" in (run.folder / page).read_text()
    names = {Path(name).name for name in run.files}
    assert {"article.html", "style.css", "app.js", "image.png@figure=1", "image.png@figure=4", "wget.json"} <= names
    assert (run.facts["status"], run.facts["complete"]) == (200, True)
    assert json.loads((run.folder / "wget.json").read_bytes()) == run.facts
    assert 'src="image.png@figure=1"' in (run.folder / str(run.facts["path"])).read_text()
    assert 'src="/image.png?figure=1"' in (run.folder / str(run.facts["original"])).read_text()
    warc = run.folder / str(run.facts["warc"])
    responses = {url: body for kind, url, body in warc_records(warc) if kind == "response"}
    assert b"On Keeping Pages" in responses[site.url_for("/article")]
    assert site.url_for("/image.png?figure=1") in responses
    Checker(CheckerOptions([str(warc)])).process_all()


@pytest.mark.parametrize("asked_for", [False, True])
def test_what_identifies_the_archivist_is_in_the_warc_only_if_asked_for(
    wget: "Wget", site: Site, tmp_path: Path, asked_for: bool
) -> None:
    cookies = tmp_path / "cookies.txt"
    cookies.write_text("# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\tsecret-cookie\n")
    extra = json.dumps(["--header=X-Token: secret-token", "--http-user=me", "--http-password=secret-word"])
    settings = {"COOKIES_FILE": str(cookies), "WGET_ARGS_EXTRA": extra, "WGET_SAVE_SECRETS": str(asked_for)}
    settings["WGET_USER_AGENT"] = "Keeper/1.0"
    run = wget(site.url_for("/article"), **settings)

    sent = [hit.headers for hit in site.requests if hit.path == "/article"][-1]
    assert ("secret-cookie" in sent["cookie"], sent["x-token"]) == (True, "secret-token")
    assert sent["user-agent"] == "Keeper/1.0"
    warc = run.folder / str(run.facts["warc"])
    records = warc_records(warc)
    kept = gzip.decompress(warc.read_bytes())
    assert [word in kept for word in (b"secret-cookie", b"secret-token", b"secret-word")] == [asked_for] * 3
    assert [kind for kind, _, _ in records].count("request") == [kind for kind, _, _ in records].count("response") > 4
    Checker(CheckerOptions([str(warc)])).process_all()
    assert not list(run.folder.rglob(".*.tmp"))


class CheckerOptions:
    """What warcio's checker reads from its command line."""

    verbose = False

    def __init__(self, inputs: list[str]) -> None:
        self.inputs = inputs


def test_every_program_run_is_on_record(wget: "Wget", site: Site) -> None:
    run = wget(site.url_for("/colour"))

    ended = [record for record in run.records if record["type"] == "Process" and "exit_code" in record]
    assert [record["exit_code"] for record in ended] == [0, 0], "wget --version, wget"
    command = ended[1]["cmd"]
    assert isinstance(command, list)
    assert command[-2:] == ["--", site.url_for("/colour")]


def test_what_a_page_shows_is_kept_wherever_a_redirect_led(wget: "Wget", site: Site) -> None:
    """/redirect/second leads to /article, which is not below it."""
    run = wget(site.url_for("/redirect/second"), WGET_SAVE_WARC="false")

    names = {Path(name).name for name in run.files}
    assert {"second.html", "style.css", "image.png@figure=4"} <= names
    assert not any("warc" in name for name in names)
    assert run.facts["final_url"] == site.url_for("/article")


@pytest.mark.parametrize(("path", "answer"), [("/404", "404 Not Found"), ("/auth-basic", "401 Unauthorized")])
def test_what_the_server_refuses_is_a_soft_failure_with_the_answer_as_warc(
    wget: "Wget", site: Site, path: str, answer: str
) -> None:
    run = wget(site.url_for(path))

    assert (run.code, run.result["status"], run.result["output_str"]) == (0, "failed", answer)
    assert run.files == [run.facts["warc"]]
    assert any(kind == "response" for kind, _, _ in warc_records(run.folder / str(run.facts["warc"])))


def test_a_redirect_without_end_is_a_soft_failure(wget: "Wget", site: Site) -> None:
    run = wget(site.url_for("/redirect-loop"))

    assert (run.code, run.result["status"]) == (0, "failed")
    assert "Redirected too often" in str(run.result["output_str"])


@pytest.mark.parametrize("path", ["/500", "/rate-limited", "/status/503"])
def test_what_may_be_different_later_is_tried_again(wget: "Wget", site: Site, path: str) -> None:
    run = wget(site.url_for(path))

    assert (run.code, run.result["status"], run.result["retry"]) == (1, "failed", "later")
    assert run.files == []


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/never", "/trickle"])
def test_a_server_that_does_not_go_on_costs_the_hooks_time_and_no_more(wget: "Wget", site: Site, path: str) -> None:
    run = wget(site.url_for(path), WGET_TIMEOUT="4")

    assert (run.code, run.result["status"], run.result["retry"]) == (1, "failed", "later")
    assert run.files == []


def test_no_server_at_all_is_tried_again(wget: "Wget") -> None:
    run = wget("http://127.0.0.1:9/")

    assert run.code == 1
    assert "the network failed" in run.stderr


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["/404", "/never", "/trickle"])
def test_a_page_is_kept_when_what_it_shows_is_not_to_be_had(
    wget: "Wget", site: Site, page_server: Callable[[str], str], trouble: str
) -> None:
    """/trickle gives a byte each 100 ms, so that wget is ended by us and its WARC is cut to whole records."""
    url = page_server(f'<h1>Here</h1><img src="{site.url_for("/image.png")}"><img src="{site.url_for(trouble)}">')

    run = wget(url, WGET_TIMEOUT="6")

    assert run.result["status"] == "succeeded"
    assert run.facts["complete"] is False
    assert "<h1>Here</h1>" in (run.folder / str(run.facts["path"])).read_text()
    responses = [
        address for kind, address, _ in warc_records(run.folder / str(run.facts["warc"])) if kind == "response"
    ]
    assert url in responses


def test_a_file_above_the_limit_is_a_soft_failure_and_leaves_nothing(wget: "Wget", site: Site) -> None:
    run = wget(site.url_for("/huge.bin?mb=20"), WGET_MAX_SIZE="2m")

    assert (run.code, run.result["status"]) == (0, "failed")
    assert run.result["output_str"] == "The page is larger than WGET_MAX_SIZE"
    assert run.files == []


@pytest.mark.parametrize("url", ["ftp://example.com/", "file:///etc/passwd", "javascript:alert(1)", "--version", ""])
def test_other_schemes_are_skipped_before_anything_is_started(wget: "Wget", url: str) -> None:
    run = wget(url)

    assert (run.code, run.result["status"]) == (10, "skipped")
    assert len(run.records) == 1


def test_options_that_wget_does_not_know_are_the_settings_fault(wget: "Wget", site: Site) -> None:
    run = wget(site.url_for("/colour"), WGET_ARGS_EXTRA="--no-such-option")

    assert (run.code, run.result["status"]) == (1, "failed")
    assert "WGET_ARGS" in str(run.result["output_str"])


def test_a_missing_program_is_said(wget: "Wget", site: Site) -> None:
    run = wget(site.url_for("/colour"), WGET_BINARY="no-such-wget")

    assert (run.code, run.result["status"]) == (1, "failed")
    assert "not installed" in str(run.result["output_str"])


def test_another_attempt_keeps_the_warc_of_the_first(wget: "Wget", site: Site) -> None:
    first = wget(site.url_for("/404"))
    time.sleep(1.1)  # WARCs are named by the second
    second = wget(site.url_for("/colour"))

    assert {first.facts["warc"], second.facts["warc"]} <= set(second.files)


def test_told_to_stop_it_leaves_nothing(tmp_path: Path, site: Site) -> None:
    site.forget()
    process = subprocess.Popen(
        [sys.executable, str(PLUGIN / "on_Snapshot__61_wget.py"), f"--url={site.url_for('/never')}"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"]},
    )
    assert process.stdout is not None
    started = [json.loads(process.stdout.readline()) for _ in range(3)][2]  # --version: start, end; wget: start
    site.wait_for_request("/never")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)

    assert process.returncode == 1
    assert list(tmp_path.iterdir()) == []
    assert not Path(f"/proc/{started['pid']}").exists()


@pytest.mark.skipif(shutil.which("wget2") is None, reason="wget2 is not on this machine")
def test_wget2_saves_the_page_without_a_warc(wget: "Wget", site: Site) -> None:
    run = wget(site.url_for("/redirect"), WGET_BINARY="wget2")

    assert run.result["status"] == "succeeded"
    assert "On Keeping Pages" in (run.folder / str(run.result["output_str"])).read_text()
    assert (run.facts["final_url"], run.facts["warc"]) == (site.url_for("/article"), "")


@pytest.mark.skipif(shutil.which("wget2") is None, reason="wget2 is not on this machine")
@pytest.mark.parametrize(("path", "code"), [("/404", 0), ("/500", 1)])
def test_wget2_fails_as_wget_does(wget: "Wget", site: Site, path: str, code: int) -> None:
    """wget2 1.99.1 ends with 0 after a 500: the status is read from its log."""
    run = wget(site.url_for(path), WGET_BINARY="wget2")

    assert run.code == code
    assert not (run.folder / "wget.json").exists()


def test_wget_is_not_asked_for_a_version_that_is_known(tmp_path: Path, wget: "Wget", site: Site) -> None:
    asked = tmp_path / "asked"
    asking = tmp_path / "asking-wget"
    asking.write_text(f'#!/bin/sh\ncase "$*" in --version) echo asked >> {asked};; esac\nexec wget "$@"\n')
    asking.chmod(0o755)
    assert wget(site.url_for("/colour"), WGET_BINARY=str(asking), WGET_VERSION="1.21.3").code == 0
    assert not asked.exists()
    assert wget(site.url_for("/colour"), WGET_BINARY=str(asking)).code == 0
    assert asked.read_text() == "asked\n"
