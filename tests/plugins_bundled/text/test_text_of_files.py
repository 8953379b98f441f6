"""Text of what is no page: PDFs, pictures, recordings; and summaries of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import wave
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image, ImageDraw, ImageFont

from tests.loopback import serving
from tests.site.pictures import pdf

pytestmark = pytest.mark.slow

PLUGINS = Path(__file__).parents[3] / "archivebox" / "plugins"
# It takes the words of whisper's command line, writes its files, and hears the length of the recording.
LISTENER = """#!/usr/bin/env python3
import argparse, pathlib, sys, wave
parser = argparse.ArgumentParser()
for name in ("model", "model_directory", "output_dir", "output_format", "language", "verbose"):
    parser.add_argument("--" + name)
parser.add_argument("audio", nargs="*")
given = parser.parse_args()
for audio in given.audio:
    try:
        length = wave.open(audio).getnframes()
    except (EOFError, wave.Error) as error:
        sys.exit(f"cannot be heard: {error!r}")
    place = pathlib.Path(given.output_dir, pathlib.Path(audio).stem)
    text = f"{length} frames, {given.language}, {given.model or pathlib.Path(given.model_directory).name}"
    place.with_suffix(".txt").write_text(text + "\\n")
    place.with_suffix(".vtt").write_text(f"WEBVTT\\n\\n00:00.000 --> 00:01.000\\n{text}\\n")
"""


def run(plugin: str, snapshot: Path, **settings: str) -> SimpleNamespace:
    (hook,) = (PLUGINS / plugin).glob("on_Snapshot__*.py")
    folder = snapshot / plugin
    folder.mkdir(parents=True, exist_ok=True)
    env = {"PATH": os.environ["PATH"], **settings}
    done = subprocess.run(
        [sys.executable, hook, "--snapshot-id=x"], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    result = records[-1]
    left = sorted(path.name for path in folder.iterdir())
    return SimpleNamespace(code=done.returncode, result=result, folder=folder, left=left, stderr=done.stderr)


def keep(snapshot: Path, plugin: str, name: str, content: bytes) -> None:
    (snapshot / plugin).mkdir(exist_ok=True)
    (snapshot / plugin / name).write_bytes(content)
    if plugin == "wget":
        (snapshot / "wget" / "wget.json").write_text(json.dumps({"path": name}))


def picture_of(words: str) -> Image.Image:
    image = Image.new("RGB", (900, 140), "white")
    ImageDraw.Draw(image).text((30, 30), words, fill="black", font=ImageFont.load_default(size=56))
    return image


@pytest.mark.parametrize("plugin", ["staticfile", "wget"])
def test_the_text_of_a_pdf_is_kept_whatever_it_is_called(tmp_path: Path, plugin: str) -> None:
    keep(tmp_path, plugin, "download", pdf("The Local Web keeps pages"))

    done = run("pdftotext", tmp_path)

    assert done.result["status"] == "succeeded"
    assert (done.folder / "content.txt").read_text() == "The Local Web keeps pages\n"
    assert done.left == ["content.txt"]


def test_a_damaged_pdf_fails_with_its_reason_and_no_file(tmp_path: Path) -> None:
    keep(tmp_path, "staticfile", "a.pdf", b"%PDF-1.4\nand then nothing")

    done = run("pdftotext", tmp_path)

    assert (done.result["status"], done.left) == ("failed", [])
    assert "damaged or asks for a password" in done.result["output_str"]


def test_without_a_pdf_there_is_nothing_to_read(tmp_path: Path) -> None:
    keep(tmp_path, "wget", "index.html", b"<p>no PDF")

    assert run("pdftotext", tmp_path).result["status"] == "noresults"


def test_a_file_outside_the_snapshot_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.pdf").write_bytes(pdf("secret"))
    snapshot = tmp_path / "snapshot"
    snapshot.mkdir()
    keep(snapshot, "wget", "a.pdf", pdf("a"))
    (snapshot / "wget" / "wget.json").write_text('{"path": "../../secret.pdf"}')
    keep(snapshot, "staticfile", "none.txt", b"")
    (snapshot / "staticfile" / "link.pdf").symlink_to(tmp_path / "secret.pdf")

    assert run("pdftotext", snapshot).result["status"] == "noresults"


def test_the_words_in_a_picture_are_read(tmp_path: Path) -> None:
    (tmp_path / "staticfile").mkdir()
    picture_of("Keeping pages for decades").save(tmp_path / "staticfile" / "picture.png")

    done = run("ocr", tmp_path)

    assert (done.folder / "content.txt").read_text() == "Keeping pages for decades\n"
    assert done.left == ["content.txt"]


def test_a_pdf_of_pictures_is_read_page_by_page_up_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "staticfile").mkdir()
    first, *others = [picture_of(words) for words in ("The harbour", "Two lanterns", "Three ledgers")]
    first.save(tmp_path / "staticfile" / "scan.pdf", save_all=True, append_images=others)
    assert run("pdftotext", tmp_path).result["status"] == "noresults"

    done = run("ocr", tmp_path, OCR_MAX_PICTURES="2")

    assert (done.folder / "content.txt").read_text() == "The harbour\n\nTwo lanterns\n"


def test_a_broken_picture_is_a_failure_and_an_empty_one_is_not(tmp_path: Path) -> None:
    keep(tmp_path, "staticfile", "broken.png", b"\x89PNG\r\n\x1a\nand then nothing")
    assert run("ocr", tmp_path).result["status"] == "failed"

    Image.new("RGB", (200, 100), "white").save(tmp_path / "staticfile" / "broken.png")
    done = run("ocr", tmp_path)
    assert (done.result["status"], done.left) == ("noresults", [])


@pytest.fixture
def listener(tmp_path: Path) -> str:
    """A stand-in for whisper: its model would come from elsewhere."""
    program = tmp_path / "listener"
    program.write_text(LISTENER)
    program.chmod(0o755)
    return str(program)


def record(path: Path, frames: int) -> None:
    path.parent.mkdir(exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(2 * frames))


def test_what_is_said_is_kept_with_its_times(tmp_path: Path, listener: str) -> None:
    snapshot, model = tmp_path / "snapshot", tmp_path / "a-model"
    snapshot.mkdir()
    model.mkdir()
    record(snapshot / "ytdlp" / "talk one.wav", 800)

    done = run(
        "transcribe", snapshot, TRANSCRIBE_BINARY=listener, TRANSCRIBE_MODEL=str(model), TRANSCRIBE_LANGUAGE="en"
    )

    assert (done.folder / "content.txt").read_text() == "800 frames, en, a-model\n"
    assert (done.folder / "talk one.vtt").read_text().startswith("WEBVTT")
    assert done.left == ["content.txt", "talk one.vtt"]


def test_a_video_with_subtitles_is_not_written_down(tmp_path: Path, listener: str) -> None:
    record(tmp_path / "ytdlp" / "talk.wav", 800)
    keep(tmp_path, "ytdlp", "talk.en.vtt", b"WEBVTT")

    done = run("transcribe", tmp_path, TRANSCRIBE_BINARY=listener)

    assert (done.code, done.result["status"]) == (10, "skipped")


def test_a_recording_that_cannot_be_heard_is_a_failure(tmp_path: Path, listener: str) -> None:
    keep(tmp_path, "staticfile", "talk.ogg", b"OggS")

    done = run("transcribe", tmp_path, TRANSCRIBE_BINARY=listener)

    assert (done.result["status"], done.left) == ("failed", [])
    assert "talk.ogg: cannot be heard" in done.result["output_str"]


class Chat(BaseHTTPRequestHandler):
    """A stand-in for a service of OpenAI's protocol: it answers with what it was asked."""

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = {"busy": 503, "elsewhere": 302}.get(question["model"], 200)
        if self.headers["Authorization"] != "Bearer a-key":
            status = 401
        told = [f"{message['role']}: {message['content']}" for message in question["messages"]]
        content = "x" * 200_000 if question["model"] == "endless" else f"{self.path} {told}"
        answer = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()
        self.send_response(status)
        self.send_header("Location", "http://127.0.0.1:9/")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Chat)) as url:
        yield f"{url}/v1/"


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    keep(tmp_path, "article", "article.txt", b"Nobody plans to lose a page. " * 10)
    keep(tmp_path, "htmltotext", "htmltotext.txt", b"Menu. Nobody plans to lose a page.")
    return tmp_path


def test_a_service_is_given_as_much_of_the_text_as_it_may_have(snapshot: Path, service: str) -> None:
    asked = {"SUMMARIZE_URL": service, "SUMMARIZE_MODEL": "small", "SUMMARIZE_API_KEY": "a-key"}

    done = run("summarize", snapshot, SUMMARIZE_PROMPT="Be brief.", SUMMARIZE_MAX_CHARACTERS="100", **asked)

    said = (done.folder / "summary.txt").read_text()
    assert said.startswith("/v1/chat/completions ['system: Be brief.', 'user: Nobody plans to lose a page.")
    assert done.result["output_json"]["cut"]
    assert done.result["output_json"]["of"] == 100
    assert done.left == ["summary.json", "summary.txt"]


@pytest.mark.parametrize(
    ("model", "key", "reason", "retry"),
    [
        ("busy", "a-key", "not to be had now: it answers 503", "later"),
        ("small", "wrong", "it answers 401", None),
        ("elsewhere", "a-key", "it answers 302", None),
        ("endless", "a-key", "longer than 100,000 bytes", None),
    ],
)
def test_a_service_that_gives_no_summary_is_said(
    snapshot: Path, service: str, *, model: str, key: str, reason: str, retry: str | None
) -> None:
    done = run("summarize", snapshot, SUMMARIZE_URL=service, SUMMARIZE_MODEL=model, SUMMARIZE_API_KEY=key)

    assert (done.code, done.result["status"], done.result.get("retry")) == (1, "failed", retry)
    assert reason in done.stderr
    assert key not in done.stderr
    assert done.left == []


def test_a_program_summarizes_what_it_reads(snapshot: Path) -> None:
    done = run("summarize", snapshot, SUMMARIZE_BINARY="head", SUMMARIZE_ARGS='["-c", "28"]')

    assert (done.folder / "summary.txt").read_text() == "Nobody plans to lose a page.\n"
    assert done.left == ["summary.json", "summary.txt"]


def test_the_same_text_is_given_once(snapshot: Path) -> None:
    script = f"echo asked >>{snapshot}/asked; head -c 28"
    counting = {"SUMMARIZE_BINARY": "sh", "SUMMARIZE_ARGS": json.dumps(["-c", script])}

    first, again = run("summarize", snapshot, **counting), run("summarize", snapshot, **counting)
    other = run("summarize", snapshot, SUMMARIZE_MAX_CHARACTERS="100", **counting)

    assert first.result == again.result
    assert other.result["output_json"]["of"] == 100
    assert (snapshot / "asked").read_text() == "asked\nasked\n"


def test_without_anybody_who_summarizes_it_is_said_what_to_set(snapshot: Path) -> None:
    done = run("summarize", snapshot)

    assert done.result["status"] == "failed"
    assert "SUMMARIZE_URL=" in done.result["output_str"]
