"""What plays in a page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from archivebox.contract.discovery import BUNDLED, read_plugin
from archivebox.plugins.base.programs import Finished
from archivebox.plugins.ytdlp.outcome import judge
from archivebox.plugins.ytdlp.subtitles import text_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.plugins_bundled.programs.conftest import Page, WayOut
    from tests.programs import Programs
    from tests.site.serve import Site


@pytest.fixture(autouse=True)
def _installed(programs: Programs) -> None:
    programs.install("ytdlp")


def test_a_stream_is_kept_with_its_subtitles_as_text_and_no_secret(page: Page, site: Site, tmp_path: Path) -> None:
    cookies = "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\tsecret-cookie\n"
    jar = tmp_path / "cookies.txt"
    jar.write_text(cookies)
    site.forget()

    run = page.run("ytdlp", site.url_for("/hls"), COOKIES_FILE=str(jar), USER_AGENT="Keeper/1.0")

    assert run.status == "succeeded", run.stderr
    assert run.result["output_json"]["complete"] is True
    assert run.result["output_str"].endswith(".mp4")
    assert (run.folder / run.result["output_str"]).read_bytes()[4:8] == b"ftyp"
    (text,) = run.folder.glob("*.en.txt")
    assert text.read_text() == "A picture that moves\n& a tone\n"
    (notes,) = run.folder.glob("*.info.json")
    assert json.loads(notes.read_text())["webpage_url"] == site.url_for("/hls")
    assert not [path for path in run.folder.iterdir() if path.suffix in (".part", ".ytdl") or path.name[0] == "."]
    sent = [hit.headers for hit in site.requests if hit.path == "/clip.m3u8"]
    assert sent[0]["cookie"] == "session=secret-cookie"
    assert sent[0]["user-agent"] == "Keeper/1.0"
    assert jar.read_text() == cookies, "it is the person's file"
    kept = [path.read_bytes() for path in run.folder.iterdir()]
    assert not any(b"secret-cookie" in content for content in [*kept, json.dumps(run.records).encode()])


def test_a_playlist_is_kept_up_to_its_limit(page: Page, site: Site) -> None:
    page.keep("dom/output.html", "<video src='/clip.mp4?first'></video>")

    run = page.run("ytdlp", site.url_for("/playlist"), YTDLP_PLAYLIST_MAX="2")

    assert len(run.result["output_json"]["media"]) == 2
    assert [site.hits(f"/clip.mp4?{name}") > 0 for name in ("first", "second", "third")] == [True, True, False]


def test_a_stream_that_a_script_fetched_is_known_from_what_was_recorded(page: Page, site: Site) -> None:
    page.keep("dom/output.html", "<div id=player></div>")
    fetched = {"url": site.url_for("/clip.m3u8"), "mime": "application/vnd.apple.mpegurl", "status": 200}
    page.keep("responses/index.jsonl", f"{json.dumps(fetched)}\n{{half")

    run = page.run("ytdlp", site.url_for("/colour"))

    assert (run.status, len(run.commands)) == ("succeeded", 2), run.stderr


def test_what_yt_dlp_does_not_know_is_no_result(page: Page, site: Site) -> None:
    run = page.run("ytdlp", site.url_for("/article"))

    assert (run.status, len(run.commands), run.files) == ("noresults", 1, [])


def test_what_is_too_large_is_not_kept(page: Page, site: Site) -> None:
    run = page.run("ytdlp", site.url_for("/video"), YTDLP_MAX_SIZE="4k")

    assert (run.status, run.files) == ("failed", [])
    assert "YTDLP_MAX_SIZE" in run.result["output_str"]


def test_told_to_stop_in_the_middle_leaves_nothing(page: Page, site: Site) -> None:
    page.keep("dom/output.html", "<video>")
    process = page.start("ytdlp", site.url_for("/stall"))
    site.wait_for_request("/stall")

    run = page.end("ytdlp", process, told=True)

    assert (run.status, run.files, list(run.folder.iterdir())) == ("later", [], [])


def test_it_goes_the_way_out_that_is_named(page: Page, site: Site, crawl_port: WayOut) -> None:
    site.forget()

    run = page.run("ytdlp", site.url_for("/video"), **crawl_port.environment)

    assert run.status != "succeeded"
    assert crawl_port.asked[0] == site.url_for("/video")
    assert not site.requests


@pytest.mark.parametrize(
    "html",
    [
        "<video src=x>",
        "<p><audio controls>",
        '<meta property="og:video" content="x">',
        '<iframe width=1 src="https://www.youtube-nocookie.com/embed/x">',
        '<script type="application/ld+json">{"@type": "VideoObject"}</script>',
        '<enclosure url="a.mp3" type="audio/mpeg"/>',
        "<script>play('/live.m3u8')</script>",
    ],
)
def test_what_plays_is_seen_in_the_page(page: Page, html: str) -> None:
    page.keep("dom/output.html", f"<body>{html}</body>")

    assert is_for(page.folder)


def test_it_is_not_for_an_ordinary_page(page: Page) -> None:
    page.keep("dom/output.html", "<h1>A video of</h1> <a href='/video'>words</a>")
    page.keep("chrome/navigation.json", json.dumps({"url": "https://notyoutube.com/watch?v=x"}, indent=2))
    page.keep("responses/index.jsonl", f"{json.dumps({'mime': 'image/png'})}\n")

    assert not is_for(page.folder)


def test_it_is_for_a_page_that_nobody_else_has_kept(page: Page) -> None:
    assert is_for(page.folder)


@pytest.mark.parametrize(
    "mime", ["video/mp4", "audio/mpegurl", "application/vnd.apple.mpegurl", "application/dash+xml"]
)
def test_what_a_script_fetched_to_play_is_seen_in_what_was_recorded(page: Page, mime: str) -> None:
    page.keep("dom/output.html", "<div id=player></div>")
    page.keep("responses/index.jsonl", json.dumps({"url": "https://one.test/x", "mime": mime}, separators=(",", ":")))

    assert is_for(page.folder)


@pytest.mark.parametrize("url", ["https://www.youtube.com/watch?v=x", "https://youtu.be/x"])
def test_a_site_of_videos_is_asked_whatever_its_page_shows(page: Page, url: str) -> None:
    page.keep("dom/output.html", "<h1>Before you continue</h1>")
    page.keep("chrome/navigation.json", json.dumps({"url": url, "final_url": "https://consent.test/"}, indent=2))

    assert is_for(page.folder)


def is_for(folder: Path) -> bool:
    plugin = read_plugin("ytdlp", BUNDLED / "ytdlp")
    assert plugin is not None
    (hook,) = plugin.hooks
    return hook.applies.is_for_content_of(folder)


@pytest.mark.parametrize(
    ("code", "said", "verdict"),
    [
        (1, "ERROR: Unsupported URL: http://one.test/", "noresults"),
        (1, "ERROR: [youtube] x: Private video. Sign in if you've been granted access", "failed"),
        (1, "ERROR: [generic] Unable to download webpage: HTTP Error 404: Not Found (caused by x)", "failed"),
        (1, "ERROR: [generic] Unable to download webpage: HTTP Error 503: Later (caused by x)", "try again"),
        (1, "ERROR: [generic] Unable to download webpage: timed out", "try again"),
        (1, "ERROR: [x] Requested format is not available. Use --list-formats", "failed"),
        (2, "yt-dlp: error: no such option: --nonsense", "misconfigured"),
    ],
)
def test_what_came_of_it_is_read_from_its_words(code: int, said: str, verdict: str) -> None:
    assert judge(Finished(code, "", said, timed_out=False))[0] == verdict


def test_subtitles_that_roll_say_each_line_once() -> None:
    srt = "1\n00:00:01,000 --> 00:00:02,000\none\n\n2\n00:00:02,000 --> 00:00:03,000\none\n{\\an8}two &lt;3\n"

    assert text_of(srt) == "one\ntwo <3\n"
