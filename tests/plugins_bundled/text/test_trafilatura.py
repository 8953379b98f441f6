"""The article that Trafilatura finds in stored HTML."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.programs import Programs

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).parents[3]
HOOK = CHECKOUT / "archivebox" / "plugins" / "trafilatura" / "on_Snapshot__59_trafilatura.py"
ARTICLE = CHECKOUT / "tests" / "site" / "pages" / "article.html"


@pytest.fixture(scope="module")
def python(programs: Programs) -> str:
    (path,) = programs.install("trafilatura").values()
    return path


def run(python: str, snapshot: Path, html: str) -> dict[str, Any]:
    for name in ("dom", "trafilatura"):
        (snapshot / name).mkdir()
    (snapshot / "dom" / "output.html").write_text(html)
    command = [python, str(HOOK), "--url=http://site.test/article", "--snapshot-id=x"]
    env = {"PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run(command, cwd=snapshot / "trafilatura", env=env, capture_output=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_the_article_of_a_stored_page_is_kept(python: str, tmp_path: Path) -> None:
    result = run(python, tmp_path, ARTICLE.read_text())

    text, html = ((tmp_path / "trafilatura" / f"content.{kind}").read_text() for kind in ("txt", "html"))
    facts = json.loads((tmp_path / "trafilatura" / "article.json").read_text())
    assert result["status"] == "succeeded"
    assert "Pages that vanish\nNobody plans to lose a page." in text
    assert "Nothing here is from elsewhere" not in text
    assert '<a href="http://site.test/unicode">another script</a>' in html
    assert (facts["title"], facts["author"], facts["date"]) == ("On Keeping Pages", "Ada Keeper", "2023-11-14")


def test_a_page_with_nothing_to_read_is_no_result_and_no_file(python: str, tmp_path: Path) -> None:
    assert run(python, tmp_path, "<html><body><img src=x></body></html>")["status"] == "noresults"
    assert list((tmp_path / "trafilatura").iterdir()) == []
