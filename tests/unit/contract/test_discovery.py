"""Folders of plugins read into values."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from archivebox.contract import entrypoints
from archivebox.contract.discovery import Plugin, discover_hooks, discover_plugins, read_plugin
from archivebox.contract.hook import Hook
from archivebox.contract.lint import lint
from archivebox.contract.presentation import ranked

CLICK = (
    '#!/usr/bin/env python3\nimport click\n@click.command()\n@click.option("--url")\n@click.option("--snapshot-id")\n'
)


def make(folder: Path, hooks: Mapping[str, str], config: object = None) -> Path:
    folder.mkdir(parents=True)
    for name, text in hooks.items():
        (folder / name).write_text(text)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


def read(folder: Path) -> Plugin:
    plugin = read_plugin(folder.name, folder)
    assert plugin is not None
    return plugin


def only(folder: Path) -> Hook:
    (hook,) = read(folder).hooks
    return hook


def test_hooks_of_all_plugins_come_in_file_name_order(tmp_path: Path) -> None:
    make(tmp_path / "b", {"on_Snapshot__51_b.py": "", "on_Crawl__01_b.py": ""})
    make(tmp_path / "a", {"on_Snapshot__52_a.py": "", "on_Snapshot__05_a.sh": "", "on_CrawlSetup__00_a.js": ""})
    plugins = discover_plugins(tmp_path, bundled=tmp_path / "none")
    assert [hook.file_name for hook in discover_hooks(plugins, "Snapshot")] == [
        "on_Snapshot__05_a.sh",
        "on_Snapshot__51_b.py",
        "on_Snapshot__52_a.py",
    ]
    assert [hook.plugin for hook in discover_hooks(plugins, "Crawl")] == ["a", "b"]
    assert discover_hooks(plugins, "CrawlSetup") == discover_hooks(plugins, "Crawl")
    assert discover_hooks(plugins, "SnapshotEnd") == ()


def test_a_later_folder_replaces_an_earlier_one(tmp_path: Path) -> None:
    make(tmp_path / "bundled" / "wget", {"on_Snapshot__61_wget.py": ""})
    make(tmp_path / "bundled" / "git", {"on_Snapshot__62_git.py": ""})
    make(tmp_path / "data" / "wget", {"on_Snapshot__60_mine.py": ""})
    plugins = discover_plugins(tmp_path / "data", bundled=tmp_path / "bundled")
    assert [(name, plugins[name].source) for name in ("git", "wget")] == [("git", "bundled"), ("wget", "data")]
    assert [hook.file_name for hook in plugins["wget"].hooks] == ["on_Snapshot__60_mine.py"]


OUTPUTS = [{"role": role, "file": "index.jsonl"} for role in ("text", "responses", "recording")]


def test_a_folder_without_outputs_keeps_the_roles_of_the_one_it_replaces(tmp_path: Path) -> None:
    ours = {"x-outputs": OUTPUTS, "x-keeps": "text"}
    make(tmp_path / "bundled" / "responses", {"on_Snapshot__21_responses.py": ""}, ours)
    make(tmp_path / "data" / "responses", {"on_Snapshot__24_responses.bg.js": ""}, {"properties": {}})
    plugin = discover_plugins(tmp_path / "data", bundled=tmp_path / "bundled")["responses"]
    assert (plugin.source, [output.role for output in plugin.outputs], plugin.keeps) == ("data", ["text"], "text")
    (warning,) = plugin.warnings
    assert "without the roles responses, recording" in warning
    assert [message.level for message in lint({"responses": plugin})] == ["warning"]


ENGINE = {"x-search": {"engine": "sqlite", "script": "search.py"}}


def test_a_search_backend_without_x_search_replaces_none(tmp_path: Path) -> None:
    hook = "on_Snapshot__90_search_backend_sqlite.py"
    make(tmp_path / "bundled" / "search_backend_sqlite", {hook: "", "search.py": ""}, ENGINE)
    make(tmp_path / "older" / "search_backend_sqlite", {hook: "", "search.py": ""}, {"properties": {}})
    make(tmp_path / "settings" / "search_backend_sqlite", {}, {"title": "Mine", **ENGINE})
    make(tmp_path / "own" / "search_backend_sqlite", {"search.py": ""}, ENGINE)

    def counts(folder: str) -> Plugin:
        return discover_plugins(tmp_path / folder, bundled=tmp_path / "bundled")["search_backend_sqlite"]

    older, settings, own = counts("older"), counts("settings"), counts("own")
    assert (older.source, older.search is not None) == ("bundled", True)
    assert [message.level for message in lint({older.name: older})] == ["warning"]
    assert (settings.source, settings.title, settings.warnings) == ("bundled", "Mine", ())
    assert (own.source, own.hooks) == ("data", ())


RUNNER = "#!/usr/bin/env -S uv run --script\n# /// script\n# dependencies = []\n# ///\n"


@pytest.mark.parametrize(
    ("hooks", "config"),
    [
        ({"on_Binary__10_npm_install.py": RUNNER}, None),
        ({"on_BinaryRequest__10_npm.py": RUNNER}, {"required_binaries": [{"name": "python"}]}),
        ({"on_Binary__10_npm_install.py": "#!/usr/bin/env python3\nimport rich_click as click\n"}, None),
    ],
)
def test_a_provider_of_an_earlier_dialect_does_not_take_ours_away(
    tmp_path: Path, hooks: dict[str, str], config: object
) -> None:
    """It is started by a program that itself is to be installed, or under a name that nobody calls."""
    make(tmp_path / "bundled" / "npm", {"on_Binary__40_install_using_npm_provider.py": ""}, {"title": "ours"})
    theirs = make(tmp_path / "data" / "npm", hooks, config)
    for name in hooks:
        (theirs / name).chmod(0o755)
    npm = discover_plugins(tmp_path / "data", bundled=tmp_path / "bundled")["npm"]
    assert ([hook.file_name for hook in npm.hooks], npm.title) == (
        ["on_Binary__40_install_using_npm_provider.py"],
        "ours",
    )
    assert f"{theirs} is not used in its place" in npm.warnings[0]
    assert [(one.plugin, one.level) for one in lint({"npm": npm})] == [("npm", "error")]


def test_a_provider_that_can_be_started_takes_the_place_of_ours(tmp_path: Path) -> None:
    make(tmp_path / "bundled" / "npm", {"on_Binary__40_install_using_npm_provider.py": ""})
    make(tmp_path / "data" / "npm", {"on_Binary__10_npm.sh": "exit 1\n"})
    npm = discover_plugins(tmp_path / "data", bundled=tmp_path / "bundled")["npm"]
    assert (npm.source, npm.warnings) == ("data", ())


def test_installed_packages_bring_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "site" / "nice_package" / "plug", {"on_Snapshot__61_nice.py": "raise SystemExit('imported')"})
    info = tmp_path / "site" / "nice-1.0.dist-info"
    info.mkdir()
    info.joinpath("entry_points.txt").write_text(
        "[console_scripts]\nnice = nice_package:main\n\n[archivebox.plugins]\nnice = nice_package.plug\n"
        "gone = no_such_package_here\n# other = x\n"
    )
    assert entrypoints.folders("archivebox.plugins", [str(tmp_path / "site"), str(tmp_path / "missing")]) == {
        "nice": tmp_path / "site" / "nice_package" / "plug"
    }
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    plugins = discover_plugins(None, bundled=tmp_path / "none")
    assert plugins["nice"].source == "package"
    assert "nice_package" not in sys.modules


def test_folders_that_are_no_plugins_are_passed_over(tmp_path: Path) -> None:
    make(tmp_path / "base", {"__init__.py": "", "hooks.py": ""})
    make(tmp_path / ".git", {"on_Snapshot__61_x.py": ""})
    make(tmp_path / "__pycache__", {"on_Snapshot__61_x.py": ""})
    make(tmp_path / "bad name", {"on_Snapshot__61_x.py": ""})
    (tmp_path / "file").write_text("")
    make(tmp_path / "settings_only", {}, {"properties": {}})
    plugins = discover_plugins(tmp_path, bundled=tmp_path / "none")
    assert list(plugins) == ["bad name", "settings_only"]
    assert not plugins["bad name"].hooks
    assert "none of it is used" in plugins["bad name"].warnings[0]


def test_a_folder_with_settings_alone_changes_those_of_the_plugin(tmp_path: Path) -> None:
    settings = {"WGET_TIMEOUT": {"type": "integer", "default": 600}, "WGET_ARGS": {"type": "array", "default": ["-q"]}}
    config = {
        "properties": settings,
        "required_plugins": ["env"],
        "x-hooks": {"on_Snapshot__61_wget.py": {"page": True}},
    }
    make(tmp_path / "bundled" / "wget", {"on_Snapshot__61_wget.py": ""}, config)
    changes = {"properties": {"WGET_ARGS": {"default": ["-v"]}, "WGET_NEW": {"type": "string"}}}
    make(tmp_path / "data" / "wget", {}, changes)
    wget = discover_plugins(tmp_path / "data", bundled=tmp_path / "bundled")["wget"]
    assert (wget.source, wget.path, wget.required_plugins) == ("bundled", tmp_path / "bundled" / "wget", ("env",))
    assert [(hook.file_name, hook.page) for hook in wget.hooks] == [("on_Snapshot__61_wget.py", True)]
    defaults = {spec.name: spec.default for spec in wget.schema.settings.values()}
    expected = {"WGET_TIMEOUT": 600, "WGET_ARGS": ["-v"], "WGET_NEW": None, "WGET_ENABLED": True}
    assert {name: defaults[name] for name in expected} == expected
    assert wget.warnings == ()


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b"\0", b"[" * 200_000, b'{"properties": 5, "x-hooks": []}', b"{'a': 1}"],
)
def test_a_broken_config_is_a_warning_of_that_plugin_alone(tmp_path: Path, content: bytes) -> None:
    make(tmp_path / "broken", {"on_Snapshot__61_x.py": ""}).joinpath("config.json").write_bytes(content)
    make(tmp_path / "whole", {"on_Snapshot__62_y.py": ""})
    plugins = discover_plugins(tmp_path, bundled=tmp_path / "none")
    assert plugins["whole"].warnings == ()
    assert plugins["broken"].warnings
    assert len(plugins["broken"].hooks) == 1
    assert "BROKEN_TIMEOUT" in plugins["broken"].schema.settings


def test_names_that_nobody_answers_to_are_warned_of(tmp_path: Path) -> None:
    plugin = read(
        make(
            tmp_path / "p",
            {
                "on_Machine__10_x.py": "",
                "on_Snapshot__x.rb": "",
                "on_Snapshot__late.py": "",
                "Snapshot__60_e.sh": "",
                "snapshot_util.py": "",
            },
        )
    )
    assert [hook.file_name for hook in plugin.hooks] == ["on_Snapshot__late.py"]
    assert len(plugin.warnings) == 4
    assert any("Snapshot__60_e.sh is not a hook's name" in warning for warning in plugin.warnings)
    assert any("step 9" in warning for warning in plugin.warnings)


def test_what_a_name_says_holds_without_metadata(tmp_path: Path) -> None:
    names = ["20_t.daemon.bg.js", "51_s.js", "58_e.bg.js", "63_y.finite.bg.py", "64_z.bg.py"]
    hooks = {
        hook.name.what: hook for hook in read(make(tmp_path / "p", {f"on_Snapshot__{n}": "" for n in names})).hooks
    }
    assert {what for what, hook in hooks.items() if hook.ready} == {"t"}
    assert {what for what, hook in hooks.items() if hook.finite} == {"y"}
    assert {what: hook.exclusive for what, hook in hooks.items() if hook.exclusive} == {"s": ("tab",)}
    assert {what for what, hook in hooks.items() if hook.page} == {"s"}
    assert {what for what, hook in hooks.items() if hook.fork} == {"y", "z"}


def test_step_5_of_other_events_holds_no_tab(tmp_path: Path) -> None:
    assert only(make(tmp_path / "p", {"on_Crawl__50_x.py": ""})).exclusive == ()


def test_what_is_derived_never_holds_the_page(tmp_path: Path) -> None:
    """It waits for hooks that end when the page closes, and would keep it open for ever."""
    names = ("on_Snapshot__50_quiet.sh", "on_Snapshot__51_wants.sh", "on_Snapshot__52_locks.sh")
    hooks = {
        names[0]: {"derived": True},
        names[1]: {"derived": True, "page": True},
        names[2]: {"derived": True, "exclusive": ["tab", "other"]},
    }
    make(tmp_path / "made", {**dict.fromkeys(names, ""), "config.json": json.dumps({"x-hooks": hooks})})
    plugin = discover_plugins(tmp_path, bundled=tmp_path / "none")["made"]
    assert [(hook.page, hook.exclusive) for hook in plugin.hooks] == [(False, ()), (False, ()), (False, ("other",))]
    assert [name for name in names if any(name in warning for warning in plugin.warnings)] == [*names[1:]]


def test_metadata_is_read(tmp_path: Path) -> None:
    metadata = {
        "on_Snapshot__20_t.bg.py": {
            "ready": True,
            "session": True,
            "finite": True,
            "page": True,
            "fork": False,
            "after": ["x"],
            "sources": ["dom"],
            "argv": ["--url", "depth"],
        },
        "on_Snapshot__55_title.py": {"exclusive": [], "after": ["dom"], "derived": True},
    }
    plugin = read(make(tmp_path / "p", dict.fromkeys(metadata, ""), {"x-hooks": metadata}))
    tab, title = plugin.hooks
    assert (tab.ready, tab.session, tab.finite, tab.derived, tab.page, tab.fork) == (
        True,
        True,
        True,
        False,
        True,
        False,
    )
    assert title.derived
    assert (tab.after, tab.sources, tab.argv) == (("x",), ("dom",), ("url", "depth"))
    assert (title.exclusive, title.page, title.after) == ((), False, ("dom",))
    assert plugin.warnings == ()


@pytest.mark.parametrize(
    ("hook", "declared", "warm"),
    [
        ("on_Crawl__01_x.bg.py", {"warm": True}, True),
        ("on_Crawl__01_x.bg.py", {}, False),
        ("on_Crawl__01_x.py", {"warm": True}, False),
        ("on_Crawl__01_x.bg.sh", {"warm": True}, False),
        ("on_Crawl__01_x.bg.py", {"warm": True, "exclusive": ["disk"]}, False),
        ("on_Snapshot__01_x.bg.py", {"warm": True}, False),
    ],
)
def test_background_hooks_of_crawls_may_be_started_before_their_crawl(
    tmp_path: Path, hook: str, declared: dict[str, object], warm: bool
) -> None:
    plugin = read(make(tmp_path / "p", {hook: ""}, {"x-hooks": {hook: declared}}))
    assert (plugin.hooks[0].warm, plugin.warnings) == (warm, ())


@pytest.mark.parametrize(
    "metadata",
    [5, [], {"ready": "yes"}, {"exclusive": "tab"}, {"after": [1]}, {"unknown": True}, {"argv": None}, {"fork": 1}],
)
def test_metadata_that_is_not_understood_is_ignored_with_a_warning(tmp_path: Path, metadata: object) -> None:
    config = {"x-hooks": {"on_Snapshot__61_x.py": metadata}}
    plugin = read(make(tmp_path / "p", {"on_Snapshot__61_x.py": ""}, config))
    assert len(plugin.warnings) == 1
    assert plugin.hooks[0].after == ()


def test_metadata_of_a_missing_hook_is_warned_of(tmp_path: Path) -> None:
    plugin = read(make(tmp_path / "p", {}, {"x-hooks": {"on_Snapshot__61_x.py": {}}}))
    assert "not there" in plugin.warnings[0]


def test_programs_requirements_and_types_are_read(tmp_path: Path) -> None:
    folder = make(tmp_path / "p", {}, {"required_plugins": ["chrome", 5], "output_mimetypes": ["image/png"]})
    folder.joinpath("binaries.jsonl").write_text('{"type": "Binary", "name": "wget"}\n')
    folder.joinpath("dependencies.jsonl").write_text('{"bin_name": "curl"}\n')
    plugin = read(folder)
    assert [request.name for request in plugin.binaries] == ["wget", "curl"]
    assert (plugin.required_plugins, plugin.output_mimetypes) == (("chrome",), ("image/png",))
    assert (plugin.enabled_setting, plugin.timeout_setting) == ("P_ENABLED", "P_TIMEOUT")


def test_programs_of_the_newer_dialect_are_read(tmp_path: Path) -> None:
    required = [
        {"name": "{P_BINARY}", "binproviders": "env,pip", "min_version": None,
         "overrides": {"pip": {"install_args": ["--pre", "a-b[c]"]}}},
        {"name": "curl"},
        {"name": "{GONE_BINARY}"},
        5,
    ]  # fmt: skip
    config = {"required_binaries": required, "properties": {"P_BINARY": {"type": "string", "default": "a-b"}}}
    plugin = read(make(tmp_path / "p", {"on_CrawlSetup__10_x.py": "from abx_plugins import x"}, config))
    assert [(asked.name, asked.binproviders) for asked in plugin.binaries[:2]] == [
        ("a-b", ("env", "pip")),
        ("curl", ()),
    ]
    assert plugin.binaries[0].overrides["pip"]["packages"] == ["a-b[c]"]  # type: ignore[call-overload,index]
    assert len(plugin.warnings) == 2
    assert plugin.hooks[0].newer_dialect
    assert plugin.hooks[0].name.event == "Crawl"


INLINE = "# /// script\n# requires-python = '>=3.11'\n# dependencies = [\n#   'b==2',\n#   'a',\n# ]\n# ///\nimport a\n"


@pytest.mark.parametrize(
    ("files", "packages"),
    [
        ({"on_Snapshot__61_x.py": "import rich_click as click\n"}, ["feedparser", "requests", "rich-click"]),
        ({"on_Snapshot__61_x.py": "def f():\n    import requests\n"}, ["feedparser", "requests", "rich-click"]),
        (
            {"on_Crawl__00_x.py": "from abx_pkg import Binary\nimport rich_click\n"},
            ["abx-pkg", "feedparser", "requests", "rich-click"],
        ),
        ({"on_Snapshot__61_x.py": INLINE}, ["a", "b==2"]),
        ({"on_Snapshot__61_x.py": INLINE, "requirements.txt": "c  # why\n# no\n--pre\nd>1\n"}, ["c", "d>1"]),
        ({"on_Snapshot__61_x.py": "# /// script\n# requires-python = '>=3.11'\n# ///\n"}, None),
        ({"on_Snapshot__61_x.py": "import json\n"}, None),
        ({"on_Snapshot__61_x.sh": "true\n", "requirements.txt": "a\n"}, None),
        ({"on_Binary__10_x.py": "import requests\n"}, None),
    ],
)
def test_packages_that_a_hook_imports_are_an_environment_of_its_own(
    tmp_path: Path, files: dict[str, str], packages: list[str] | None
) -> None:
    plugin = read(make(tmp_path / "p", files))
    (hook,) = plugin.hooks
    if packages is None:
        assert (hook.environment, plugin.binaries) == ("", ())
        return
    (environment,) = plugin.binaries
    assert environment.name == hook.environment
    assert environment.overrides == {"pip": {"packages": packages, "names": ["python"]}}
    assert not hook.fork


def test_a_hook_of_an_environment_is_forked_where_it_names_what_that_has_warm(tmp_path: Path) -> None:
    name = "on_Snapshot__61_x.py"
    config = {"x-hooks": {name: {"preload": ["a", "a.b"]}}}
    plugin = read(make(tmp_path / "p", {name: "import a.b\n", "requirements.txt": "a\n"}, config))
    (hook,) = plugin.hooks
    assert (hook.fork, hook.preload, bool(hook.environment), plugin.warnings) == (True, ("a", "a.b"), True, ())


@pytest.mark.parametrize(
    ("block", "environment", "interpreter"),
    [
        ('# dependencies = ["rich-click", "jambo"]', ["jambo", "rich-click"], "python"),
        ("# dependencies = []", None, "python"),
        ('# dependencies = ["jambo"]\n# [tool.uv.sources]\n# jambo = { path = "/x" }', None, "self"),
    ],
)
def test_what_uv_would_fetch_for_a_script_is_installed_before_the_page(
    tmp_path: Path, block: str, environment: list[str] | None, interpreter: str
) -> None:
    text = f"#!/usr/bin/env -S uv run --active --script\n# /// script\n{block}\n# ///\nimport json\n"
    folder = make(tmp_path / "p", {"on_Snapshot__61_x.py": text, "on_Binary__10_x.py": text})
    for script in folder.glob("*.py"):
        script.chmod(0o755)
    plugin = read(folder)
    binary, hook = plugin.hooks
    assert (binary.interpreter, hook.interpreter) == ("self", interpreter)
    asked = [request.overrides["pip"] for request in plugin.binaries if request.name != "uv"]
    assert asked == ([{"packages": environment, "names": ["python"]}] if environment else [])
    assert bool(hook.environment) == bool(environment)


def test_a_hook_that_abxpkg_starts_has_the_package_that_it_imports(tmp_path: Path) -> None:
    """As in abx-plugins 1.13, which names neither itself nor anything that its own package brings."""
    line = "#!/usr/bin/env -S abxpkg run --script --deps-from=./config.json:required_binaries"
    hooks = {
        "on_Snapshot__35_wget.finite.bg.py": f"{line} python3\nfrom abx_plugins.plugins.base.utils import x\n",
        "on_Snapshot__54_title.js": f"{line} node\n",
    }
    folder = make(tmp_path / "p", hooks)
    for script in folder.iterdir():
        script.chmod(0o755)
    plugin = read(folder)
    (environment,) = plugin.binaries
    assert [hook.interpreter for hook in plugin.hooks] == ["python", "node"]
    assert plugin.hooks[0].environment == environment.name
    assert environment.overrides == {"pip": {"packages": ["abx-plugins"], "names": ["python"]}}


@pytest.mark.parametrize(
    ("shebang", "program"),
    [
        ("#!/usr/bin/env -S uv run --active --python 3.13 --script", ("uv", ("env", "pip"))),
        ("#!/usr/bin/env -S A=b abxpkg run --script python3", ("abxpkg", ("env", "pip"))),
        ("#!/usr/bin/env perl", ("perl", ("env",))),
        ("#!/usr/bin/perl", None),
        ("#!/usr/bin/env python3", None),
    ],
)
def test_the_program_that_runs_a_script_is_one_that_it_needs(
    tmp_path: Path, shebang: str, program: tuple[str, tuple[str, ...]] | None
) -> None:
    folder = make(tmp_path / "p", {"on_Snapshot__61_x.py": f"{shebang}\nimport requests\n" if program else shebang})
    folder.joinpath("on_Snapshot__61_x.py").chmod(0o755)
    plugin = read(folder)
    assert [(asked.name, asked.binproviders) for asked in plugin.binaries] == ([program] if program else [])
    assert plugin.hooks[0].environment == ""


@pytest.mark.parametrize(
    ("file_name", "text", "argv"),
    [
        ("x.py", CLICK, ("url", "snapshot-id")),
        ("x.py", CLICK.replace("command()", "command(context_settings={'ignore_unknown_options': True})"), None),
        (
            "x.py",
            CLICK.replace('"--url"', '"-u", "--url", "page", required=True, help="--depth"'),
            ("url", "snapshot-id"),
        ),
        ("x.py", CLICK + "subprocess.run(['git', 'clone', '--depth=1', '--name', x])", ("url", "snapshot-id")),
        ("x.py", "import rich_click as click\n@click.command()\n@click.option('--url/--no-url')", ("url",)),
        ("x.py", "from click import command, option\n@command()\n@option('--url')", ("url",)),
        ("x.py", "import click\n@click.command()\ndef main(): ...", ()),
        (
            "x.py",
            '"""Usage: --url=<url> --depth=1"""\nimport click\n@click.command()\n@click.option("--url")',
            ("url",),
        ),
        ("x.py", "p = argparse.ArgumentParser()\np.add_argument('--url')\np.parse_args()", None),
        ("x.py", "import sys\nprint(sys.argv)", None),
        ("x.py", "print('hello')", None),
        ("x.py", "subprocess.run(['wget', '--url', x])", None),
        ("x.js", "const {values} = parseArgs({options: {url: {type: 'string'}, 'crawl-id': {}}})", None),
        ("x.sh", "docker run --name x alpine", None),
    ],
)
def test_a_look_at_the_script_tells_which_options_it_accepts(
    tmp_path: Path, file_name: str, text: str, argv: tuple[str, ...] | None
) -> None:
    assert only(make(tmp_path / "p", {f"on_Snapshot__61_{file_name}": text})).argv == argv


def test_only_accepted_options_are_passed(tmp_path: Path) -> None:
    values = {"url": "https://example.com/?a=b c", "depth": "0", "binproviders": "apt,pip"}
    hook = only(make(tmp_path / "p", {"on_Snapshot__61_x.py": CLICK}))
    assert hook.arguments(values) == ("--url=https://example.com/?a=b c",)
    anything = only(make(tmp_path / "q", {"on_Snapshot__61_x.py": ""}))
    assert anything.arguments(values) == ("--url=https://example.com/?a=b c", "--depth=0", "--binproviders=apt,pip")
    older = only(
        make(tmp_path / "r", {"on_Binary__x.py": 'import click\n@click.command()\n@click.option("--bin-providers")'})
    )
    assert older.arguments(values) == ("--bin-providers=apt,pip",)


@pytest.mark.parametrize(
    ("shebang", "executable", "interpreter"),
    [
        ("#!/usr/bin/env python3", True, "python"),
        ("#!/usr/bin/python3", True, "python"),
        ("", True, "python"),
        ("#!/usr/bin/env -S uv run --script", True, "python"),
        ("#!/usr/bin/env -S uv run --with x --script", True, "self"),
        ("#!/usr/bin/env -S uv run --script", False, "python"),
        ("#!/usr/bin/python3 -I", True, "self"),
        ("#!/usr/bin/perl", True, "self"),
    ],
)
def test_the_shebang_says_who_runs_it(tmp_path: Path, shebang: str, executable: bool, interpreter: str) -> None:
    folder = make(tmp_path / "p", {"on_Snapshot__61_x.py": f"{shebang}\n"})
    folder.joinpath("on_Snapshot__61_x.py").chmod(0o755 if executable else 0o644)
    hook = only(folder)
    assert hook.interpreter == interpreter
    assert hook.fork is (interpreter == "python")


def test_an_unreadable_hook_is_listed_with_a_warning(tmp_path: Path) -> None:
    folder = make(tmp_path / "p", {})
    folder.joinpath("on_Snapshot__61_x.py").write_bytes(b"\xff\xfe\0" * 100)
    assert only(folder).argv is None
    assert discover_plugins(tmp_path / "missing", bundled=tmp_path / "missing") == discover_plugins(
        None, bundled=tmp_path / "missing"
    )


def test_a_plugin_says_what_of_it_is_shown_and_what_a_provider_can(tmp_path: Path) -> None:
    config = {
        "x-outputs": [
            {"role": "preview", "file": "*.html", "label": "Page", "rank": 10},
            {"role": "hat", "file": "x"},
        ],
        "x-provider": {"installs": "named", "administrator": "administrator.py", "colour": "red"},
    }
    plugin = read(make(tmp_path / "x", {"on_Binary__10_x.py": ""}, config))
    (shown,) = plugin.outputs
    assert (shown.role, shown.label, shown.rank) == ("preview", "Page", 10)
    assert shown.matches("output.html")
    assert not shown.matches("output.txt")
    assert (plugin.provider.installs, plugin.provider.administrator) == ("named", "administrator.py")
    assert [warning for warning in plugin.warnings if "hat" in warning]
    assert [warning for warning in plugin.warnings if "colour" in warning]


def test_a_plugin_says_which_kind_of_output_it_is_for(tmp_path: Path) -> None:
    kinds = {"a": "picture", "b": "hat", "c": ["text"], "d": None}
    for name, kind in kinds.items():
        make(tmp_path / name, {}, {} if kind is None else {"x-keeps": kind})
    found = discover_plugins(tmp_path, bundled=tmp_path / "none")
    assert {name: plugin.keeps for name, plugin in found.items()} == {"a": "picture", "b": "", "c": "", "d": ""}
    assert [name for name, plugin in found.items() if "x-keeps" in str(plugin.warnings)] == ["b", "c"]


def test_outputs_of_one_role_come_best_first(tmp_path: Path) -> None:
    for name, rank in (("later", 90), ("first", 1), ("unranked", None)):
        output = {"role": "preview", "file": "*"} | ({} if rank is None else {"rank": rank})
        make(tmp_path / name, {}, {"x-outputs": [output]})
    plugins = discover_plugins(tmp_path, bundled=tmp_path / "none")
    outputs = {name: plugin.outputs for name, plugin in plugins.items()}
    assert [name for name, _ in ranked(outputs, "preview")] == ["first", "unranked", "later"]
    assert ranked(outputs, "icon") == []
