"""What hooks of others need of the engine: options, packages, programs, environment; and what it says without them."""

import pytest

from tests.integration.engine.driver import Collection

CLICK = """
import sys, json
try:
    import rich_click as click
except ModuleNotFoundError:
    raise
@click.command()
@click.option('--url', required=True, help='URL to clone')
@click.option("--snapshot-id")
def main(url, snapshot_id):
    cmd = ['git', 'clone', "--depth=1", '--name', url]
    print(json.dumps({"type": "ArchiveResult", "status": "succeeded", "output_str": sys.prefix}))
main()
"""
SAY = """echo '{"type": "ArchiveResult", "status": "%s", "output_str": "%s"}'\n"""


def test_a_hook_of_the_older_dialect_runs_in_the_environment_made_for_it(forked: Collection) -> None:
    """It imports rich_click without saying so, and names --depth=1, which is git's option and not one of its own."""
    forked.plugin("git", {"on_Snapshot__62_git.py": CLICK})
    forked.run(forked.add())
    result = forked.results()["git"]
    assert (result["status"], result["reason"]) == ("succeeded", "")
    assert "/lib/pip/older-python-" in result["output_str"] or "/lib/pip/.older-python-" in result["output_str"]
    assert not (forked.base / "lib" / "bin" / "python").exists(), "it would replace every hook's python"


def test_a_module_or_a_runner_that_nobody_has_is_named(forked: Collection) -> None:
    forked.plugin("wants", {"on_Snapshot__60_py.py": "import no_such_package.inside\n"})
    forked.plugin("node", {"on_Snapshot__61_js.js": "require('no-such-package')\n"})
    forked.plugin("env_runner", {"on_Snapshot__60_env.py": "#!/usr/bin/env -S no-such-runner run --script\n"})
    hooks = {
        "on_Snapshot__61_shell.sh": "no-such-program --version\n",
        "on_Snapshot__62_direct.py": "#!/no/such/runner\n",
    }
    forked.plugin("runner", hooks)
    forked.run(forked.add())
    results = forked.results()
    assert results["py"]["reason"] == "missing_module:no_such_package"
    assert results["js"]["reason"] == "missing_node_module:no-such-package"
    assert results["env"]["reason"] == "missing_binary:no-such-runner"
    assert results["shell"]["reason"] == "missing_binary:no-such-program"
    assert results["direct"]["reason"].startswith("could_not_start:")
    assert {(row["status"], row["retry_at"]) for row in results.values()} == {("failed", None)}


def test_a_hook_of_the_crawls_setup_gets_the_url_and_is_told_who_runs_it(forked: Collection) -> None:
    setup = 'echo "$ABX_RUNTIME" "$@" >> "$DATA_DIR/ledger"\n'
    forked.plugin("setup", {"on_CrawlSetup__10_setup.sh": setup})
    crawl = forked.add("http://one.test/")
    forked.run(crawl)
    assert forked.ledger == [f"archivebox --crawl-id={crawl} --source-url=http://one.test/ --url=http://one.test/"]


@pytest.mark.default
def test_a_program_whose_place_is_set_is_there(forked: Collection) -> None:
    program = forked.base / "mine"
    program.write_text("#!/bin/sh\necho mine\n")
    program.chmod(0o755)
    setting = {"OWN_BINARY": {"type": "string", "default": "no-such-program"}}
    wanted = [{"type": "Binary", "name": "no-such-program", "binproviders": "env"}]
    hook = {"on_Snapshot__60_own.sh": 'echo "$("$OWN_BINARY")" >> "$DATA_DIR/ledger"\n'}
    forked.plugin("own", hook, config={"properties": setting}, binaries=wanted)
    forked.run(forked.add("http://one.test/"))
    assert forked.results()["own"]["reason"] == "missing_binary:no-such-program"
    forked.run(forked.add("http://two.test/", OWN_BINARY=str(program)))
    assert forked.ledger == ["mine"]


def test_a_setting_called_after_a_program_says_where_that_is_to_every_plugin(forked: Collection) -> None:
    program = forked.base / "mine"
    program.write_text("#!/bin/sh\necho mine\n")
    program.chmod(0o755)
    setting = {"OWN_BINARY": {"type": "string", "default": "another-program"}}
    forked.plugin("own", {"on_Snapshot__61_own.sh": "true\n"}, config={"properties": setting})
    wanted = [{"type": "Binary", "name": "own", "binproviders": "env"}]
    hook = {"on_Snapshot__60_other.sh": 'echo "$("$OWN_BINARY")" >> "$DATA_DIR/ledger"\n'}
    forked.plugin("other", hook, binaries=wanted)
    forked.run(forked.add("http://two.test/", OWN_BINARY=str(program)))
    assert forked.ledger == ["mine"]


def test_a_program_that_is_optional_is_looked_for_and_done_without(forked: Collection) -> None:
    wanted = [{"type": "Binary", "name": "no-such-program", "binproviders": "env", "optional": True}]
    forked.plugin("modest", {"on_Snapshot__60_modest.sh": "echo kept > kept.txt\n"}, binaries=wanted)
    forked.run(forked.add())
    assert forked.results()["modest"]["status"] == "succeeded"
    assert forked.row("Binary", "status", name="no-such-program") == {"status": "failed"}


def test_a_program_for_certain_addresses_is_looked_for_when_such_a_page_comes(forked: Collection) -> None:
    """The second page is found on the first, so that the crawl's start knows nothing of it."""
    for plugin, wants in (("rare", "bash"), ("never", "sh")):
        hook = f"on_Snapshot__60_{plugin}.sh"
        config = {"x-hooks": {hook: {"applies": {"url": f"/{plugin}$"}}}}
        binaries = [{"type": "Binary", "name": wants, "binproviders": "env"}]
        forked.plugin(plugin, {hook: "echo kept > kept.txt\n"}, config=config, binaries=binaries)
    found = '[[ $1 == *rare ]] || echo \'{"type": "Snapshot", "url": "http://one.test/rare"}\'\n'
    forked.plugin("links", {"on_Snapshot__70_links.sh": found})
    forked.run(forked.add("http://one.test/", max_depth=1))
    statuses = {row["status"] for row in forked.rows("ArchiveResult", "status", plugin="rare")}
    assert statuses == {"skipped", "succeeded"}
    assert [row["name"] for row in forked.rows("Binary", "name")] == ["bash"]


@pytest.mark.database
def test_a_program_for_certain_content_is_looked_for_when_such_a_page_comes(forked: Collection) -> None:
    page = "on_Snapshot__50_page.sh"
    forked.plugin("page", {page: 'echo "$*" > kept.txt\n'})
    for plugin, wants in (("rare", "bash"), ("never", "sh")):
        hook = f"on_Snapshot__60_{plugin}.sh"
        config = {"x-hooks": {hook: {"after": ["page"], "applies": {"contains": {"page/kept.txt": f"/{plugin}\\b"}}}}}
        binaries = [{"type": "Binary", "name": wants, "binproviders": "env"}]
        forked.plugin(plugin, {hook: "echo kept > kept.txt\n"}, config=config, binaries=binaries)
    forked.run(forked.add("http://one.test/rare"))
    results = forked.results()
    assert results["rare"]["status"] == "succeeded"
    assert (results["never"]["status"], results["never"]["reason"]) == (
        "skipped",
        "not_applicable:what this page contains",
    )
    assert [row["name"] for row in forked.rows("Binary", "name")] == ["bash"]


@pytest.mark.database
def test_a_title_that_is_a_hooks_result_alone_becomes_the_pages(forked: Collection) -> None:
    forked.plugin("title", {"on_Snapshot__54_title.sh": SAY % ("succeeded", " A  title")})
    forked.run(forked.add())
    assert forked.row("Snapshot", "title") == {"title": "A title"}
