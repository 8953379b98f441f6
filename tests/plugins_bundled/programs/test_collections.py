"""Galleries, threads and papers."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from archivebox.contract.discovery import BUNDLED
from archivebox.plugins.papersdl.identifiers import identifier_of

if TYPE_CHECKING:
    from tests.plugins_bundled.programs.conftest import Page, WayOut
    from tests.programs import Programs
    from tests.site.serve import Site

LETTER = "/pipermail/local/2024-January/000001.html"


def booru(site: Site) -> str:
    """The option by which gallery-dl takes the local web for a Moebooru."""
    return f'["--option=extractor.moebooru.local.root={site.url_for("/")[:-1]}"]'


def test_a_gallery_is_kept_up_to_its_limit(page: Page, site: Site, programs: Programs) -> None:
    programs.install("gallerydl")

    url, settings = site.url_for("/post?tags=local"), {"GALLERYDL_ARGS_EXTRA": booru(site)}
    run = page.run("gallerydl", url, GALLERYDL_MAX_FILES="2", **settings)

    assert run.result["output_json"] == {"pictures": 2, "files": 5, "complete": True}
    assert (run.folder / run.result["output_str"]).read_bytes().startswith(b"\x89PNG")
    assert not [name for name in run.files if name.endswith(".part")]


@pytest.mark.parametrize(("path", "status"), [("/colour", "noresults"), ("/lost.png", "failed")])
def test_no_gallery_is_no_result_and_a_lost_one_failed(
    page: Page, site: Site, programs: Programs, path: str, status: str
) -> None:
    programs.install("gallerydl")

    run = page.run("gallerydl", site.url_for(path))

    assert (run.status, run.files) == (status, []), run.stderr


def test_a_thread_is_kept_as_data_and_as_text(page: Page, site: Site, programs: Programs) -> None:
    programs.install("forumdl")

    run = page.run("forumdl", site.url_for(LETTER))

    assert run.result["output_json"] == {"posts": 2, "complete": True}
    records = [json.loads(line) for line in (run.folder / "posts.jsonl").read_text().splitlines()]
    assert [record["type"] for record in records] == ["thread", "post", "post"]
    text = (run.folder / "posts.txt").read_text()
    assert "Bob Reader\n> What is kept is read.\nAnd what is lost is missed." in text


def test_no_thread_is_no_result(page: Page, site: Site, programs: Programs) -> None:
    programs.install("forumdl")

    run = page.run("forumdl", site.url_for("/colour"))

    assert (run.status, run.files) == ("noresults", [])


def test_programs_go_the_way_out_that_is_named(page: Page, site: Site, programs: Programs, crawl_port: WayOut) -> None:
    site.forget()
    for plugin, path in (("gallerydl", "/image.png"), ("forumdl", LETTER)):
        programs.install(plugin)

        run = page.run(plugin, site.url_for(path), **crawl_port.environment)

        assert run.status != "succeeded"
        assert site.url_for(path) in crawl_port.asked
    assert not site.requests


@pytest.mark.parametrize(
    ("url", "paper"),
    [
        ("https://arxiv.org/abs/2101.00001", "arXiv:2101.00001"),
        ("https://export.arxiv.org/pdf/2101.00001v2.pdf", "arXiv:2101.00001v2"),
        ("https://arxiv.org/abs/math.GT/0309136", "arXiv:math.GT/0309136"),
        ("https://doi.org/10.1000%2F182", "10.1000/182"),
        ("https://journal.test/article/10.1234/a.b-c/", "10.1234/a.b-c"),
        ("https://one.test/10.5/x", ""),
    ],
)
def test_a_paper_is_known_by_its_address(url: str, paper: str) -> None:
    assert identifier_of(url) == paper


@pytest.mark.parametrize(
    ("plugin", "url", "applies"),
    [
        ("gallerydl", "https://www.flickr.com/photos/x/1", True),
        ("gallerydl", "https://x.com/someone/status/1", True),
        ("gallerydl", "https://box.com/someone", False),
        ("gallerydl", "https://example.org/?u=https://imgur.com/a/b", False),
        ("forumdl", "https://lists.test/pipermail/list/2024-January/000001.html", True),
        ("forumdl", "https://forum.test/t/a-topic/1234", True),
        ("forumdl", "https://forum.test/threads/a-topic.1234/", True),
        ("forumdl", "https://example.org/topics/", False),
        ("papersdl", "https://doi.org/10.1000/182", True),
        ("papersdl", "https://example.org/2024/10/1000", False),
        ("git", "https://github.com/a/b", True),
        ("git", "https://one.test/a/b.git", True),
        ("git", "https://github.com/a/b/issues", False),
    ],
)
def test_only_addresses_of_their_kind_start_a_program(plugin: str, url: str, applies: bool) -> None:
    config = json.loads((BUNDLED / plugin / "config.json").read_bytes())
    (hook,) = config["x-hooks"].values()

    assert bool(re.search(hook["applies"]["url"], url)) is applies
