"""One order of precedence, from defaults to the snapshot."""

from itertools import permutations, starmap
from pathlib import Path
from types import MappingProxyType

import pytest

from archivebox.config.core import CORE_SETTINGS, SHARED_SETTINGS
from archivebox.config.resolve import LAYERS, Layer, Resolved, SettingError, resolve
from archivebox.contract.discovery import Plugin, discover_plugins
from archivebox.contract.schema import check_value, read_schema
from archivebox.lib.jsonl import JSON


def plugin(name: str, properties: dict[str, JSON] | None = None, required: tuple[str, ...] = ()) -> Plugin:
    schema, warnings = read_schema(name, {"properties": properties or {}})
    assert warnings == ()
    return Plugin(name, Path(name), "bundled", schema=schema, required_plugins=required)


PLUGINS = {
    one.name: one
    for one in (
        plugin(
            "wget",
            {
                "WGET_ENABLED": {"type": "boolean", "default": True, "x-aliases": ["SAVE_WGET", "FETCH_WGET"]},
                "WGET_BINARY": {"type": "string", "default": "wget"},
                "WGET_ARGS": {"type": "array", "default": ["--a"], "items": {"type": "string"}},
                "WGET_ARGS_EXTRA": {"type": "array", "default": [], "x-aliases": ["WGET_EXTRA_ARGS"]},
                "WGET_USER_AGENT": {"type": "string", "x-fallback": "USER_AGENT"},
                "WGET_PASSWORD": {"type": "string"},
            },
        ),
        plugin(
            "ytdlp",
            {
                "YTDLP_ENABLED": {"type": "boolean", "default": True, "x-aliases": ["MEDIA_ENABLED", "SAVE_YTDLP"]},
                "YTDLP_TIMEOUT": {"type": "integer", "default": 3600, "x-aliases": ["MEDIA_TIMEOUT"]},
            },
        ),
        plugin("chrome", {"CHROME_BINARY": {"type": "string", "default": "chromium"}, "CHROME_TOKEN": {}}),
        plugin("dom", required=("chrome",)),
        plugin("orphan", required=("gone",)),
    )
}


def settle(*layers: tuple[str, dict[str, JSON]]) -> Resolved:
    return resolve(PLUGINS, list(starmap(Layer, layers)))


def test_without_layers_the_defaults_hold() -> None:
    found = settle()
    assert found.get("TIMEOUT") == 60
    assert found.get("WGET_TIMEOUT") == 60
    assert found.get("YTDLP_TIMEOUT") == 3600
    assert found.get("HOOK_CONCURRENCY") is None
    assert found.errors == ()
    assert found.unknown == ()


@pytest.mark.parametrize("position", range(len(LAYERS)))
def test_each_layer_beats_those_below_it(position: int) -> None:
    layers: list[tuple[str, dict[str, JSON]]] = [
        (name, {"TIMEOUT": str(100 + number)}) for number, name in enumerate(LAYERS[: position + 1])
    ]
    assert settle(*layers).get("TIMEOUT") == 100 + position
    assert settle(*reversed(layers)).get("TIMEOUT") == 100 + position


def test_the_order_in_which_layers_are_given_does_not_matter() -> None:
    layers: list[tuple[str, dict[str, JSON]]] = [
        ("file", {"TIMEOUT": "1"}),
        ("crawl", {"TIMEOUT": 3}),
        ("environment", {"TIMEOUT": "2"}),
    ]
    assert {settle(*some).get("TIMEOUT") for some in permutations(layers)} == {3}
    with pytest.raises(ValueError, match="'moon' is none of the layers fleet, file, machine"):
        settle(("moon", {}))


def test_an_alias_speaks_for_its_setting_but_the_canonical_name_goes_first() -> None:
    assert settle(("environment", {"MEDIA_ENABLED": "False"})).get("YTDLP_ENABLED") is False
    assert settle(("file", {"MEDIA_TIMEOUT": "7", "YTDLP_TIMEOUT": "8"})).get("YTDLP_TIMEOUT") == 8
    assert settle(("file", {"YTDLP_TIMEOUT": "8"}), ("user", {"MEDIA_TIMEOUT": 7})).get("MEDIA_TIMEOUT") == 7


def test_a_fallback_is_asked_before_the_default_of_its_own() -> None:
    assert settle(("file", {"TIMEOUT": "30"})).get("WGET_TIMEOUT") == 30
    assert settle(("file", {"WGET_TIMEOUT": "90"}), ("crawl", {"TIMEOUT": 30})).get("WGET_TIMEOUT") == 90
    assert settle(("file", {"TIMEOUT": "30"})).get("YTDLP_TIMEOUT") == 3600
    assert settle(("user", {"USER_AGENT": "me"})).get("WGET_USER_AGENT") == "me"


def test_nothing_said_is_nothing_said() -> None:
    found = settle(("file", {"TIMEOUT": "30"}), ("environment", {"TIMEOUT": ""}), ("crawl", {"TIMEOUT": None}))
    assert found.get("TIMEOUT") == 30
    assert settle(("file", {"WGET_ARGS": "--b"}), ("environment", {"WGET_ARGS": ""})).get("WGET_ARGS") == []
    assert settle(("file", {"USER_AGENT": "a"}), ("environment", {"USER_AGENT": ""})).get("USER_AGENT") == ""


def test_a_value_that_is_not_allowed_is_named_with_its_place() -> None:
    found = settle(("file", {"MEDIA_TIMEOUT": "soon"}), ("crawl", {"WGET_ARGS": {"a": 1}, "TIMEOUT": 0}))
    with pytest.raises(
        SettingError, match=r"YTDLP_TIMEOUT cannot be 'soon': it takes a whole number .*MEDIA_TIMEOUT in"
    ):
        found.get("YTDLP_TIMEOUT")
    with pytest.raises(SettingError, match=r"TIMEOUT cannot be 0: .* of at least 1 \(set as TIMEOUT in the crawl\)"):
        found.for_plugin("dom")
    assert [(error.layer, error.key) for error in found.errors] == [
        ("file", "MEDIA_TIMEOUT"),
        ("crawl", "WGET_ARGS"),
        ("crawl", "TIMEOUT"),
    ]
    assert settle(("file", {"TIMEOUT": "bad"}), ("crawl", {"TIMEOUT": 5})).get("TIMEOUT") == 5


def test_unknown_names_are_reported_save_those_of_the_environment() -> None:
    found = settle(("file", {"TIMEOT": "5"}), ("environment", {"PATH": "/bin"}), ("crawl", {"x": [1]}))
    assert found.unknown == (("file", "TIMEOT"), ("crawl", "x"))
    with pytest.raises(KeyError):
        found.get("TIMEOT")


def test_explain_shows_everybody_who_says_something() -> None:
    found = settle(("crawl", {"SAVE_WGET": False}), ("file", {"WGET_ENABLED": "yes"}))
    assert found.explain("WGET_ENABLED") == [
        ("default of the plugin wget", True),
        ("file", "yes"),
        ("crawl, as SAVE_WGET", False),
    ]
    found = settle(("file", {"TIMEOUT": "30"}), ("user", {"WGET_TIMEOUT": 9}))
    assert found.explain("TIMEOUT") == [("default", 60), ("file", "30")]
    assert found.explain("WGET_TIMEOUT") == [("default of TIMEOUT", 60), ("file, by TIMEOUT", "30"), ("user", 9)]


def test_a_hooks_environment_holds_its_own_and_the_shared_settings_by_canonical_name() -> None:
    found = settle(
        ("environment", {"SAVE_WGET": "0", "DATABASE_URL": "postgres://secret", "PATH": "/bin"}),
        ("crawl", {"WGET_EXTRA_ARGS": ["--x", "a,b"], "WGET_PASSWORD": "p", "WGET_UNKNOWN": "1"}),
    )
    environment = found.for_plugin("wget")
    assert environment.keys() - set(SHARED_SETTINGS) == {
        "SAVE_WGET",
        "WGET_ARGS",
        "WGET_ARGS_EXTRA",
        "WGET_BINARY",
        "WGET_ENABLED",
        "WGET_PASSWORD",
        "WGET_TIMEOUT",
        "WGET_USER_AGENT",
    }
    assert environment["WGET_ENABLED"] == environment["SAVE_WGET"] == "false"
    assert environment["WGET_ARGS_EXTRA"] == '["--x","a,b"]'
    assert environment["WGET_ARGS"] == '["--a"]'
    assert (environment["TIMEOUT"], environment["WGET_TIMEOUT"]) == ("60", "60")
    assert environment["CHECK_SSL_VALIDITY"] == "true"
    assert found.for_plugin(PLUGINS["wget"]) == environment
    environment.clear()
    assert found.for_plugin("wget")


def test_a_hook_gets_the_settings_but_no_secrets_of_what_its_plugin_requires() -> None:
    environment = settle(("user", {"CHROME_TOKEN": "hush"})).for_plugin("dom")
    assert environment["CHROME_BINARY"] == "chromium"
    assert "CHROME_TOKEN" not in environment
    assert "WGET_BINARY" not in environment
    assert settle(("user", {"CHROME_TOKEN": "hush"})).for_plugin("chrome")["CHROME_TOKEN"] == "hush"


def test_providers_of_programs_share_one_time_and_leave_pips_alone(tmp_path: Path) -> None:
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "on_Binary__install_using_pip_provider.py").write_text("")
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / "on_Binary__x.py").write_text("")
    (tmp_path / "both" / "on_Snapshot__61_x.py").write_text("")
    plugins = discover_plugins(tmp_path, bundled=tmp_path / "none")
    found = resolve(plugins, [Layer("environment", {"PIP_TIMEOUT": "15", "TIMEOUT": "30"})])
    environment = found.for_plugin("pip")
    assert environment["INSTALL_TIMEOUT"] == "1800"
    assert "PIP_TIMEOUT" not in environment
    (install,) = plugins["pip"].hooks
    assert found.timeout_for(install) == 1800
    assert [found.timeout_for(hook) for hook in plugins["both"].hooks] == [1800, 30]


def test_who_runs() -> None:
    assert settle().is_enabled("wget")
    assert settle(("file", {"SAVE_WGET": "False"})).disabled_reason("wget") == "disabled:WGET_ENABLED"
    assert settle(("file", {"CHROME_ENABLED": "0"})).disabled_reason("dom") == "missing_plugin:chrome"
    assert settle().disabled_reason("orphan") == "missing_plugin:gone"
    only = settle(("crawl", {"PLUGINS": "dom"}))
    assert [name for name in PLUGINS if only.is_enabled(name)] == ["chrome", "dom"]
    assert only.disabled_reason("wget") == "not_chosen"


def test_what_is_off_by_default_alone_runs_when_it_is_named() -> None:
    plugins = {"seo": plugin("seo", {"SEO_ENABLED": {"type": "boolean", "default": False}})}
    named = Layer("crawl", {"PLUGINS": ["seo"]})
    assert resolve(plugins, []).disabled_reason("seo") == "disabled:SEO_ENABLED"
    assert resolve(plugins, [named]).is_enabled("seo")
    assert resolve(plugins, [named]).for_plugin("seo")["SEO_ENABLED"] == "true"
    refused = resolve(plugins, [Layer("file", {"SAVE_SEO": "false"}), named])
    assert refused.disabled_reason("seo") == "disabled:SEO_ENABLED"


def test_equal_layers_are_resolved_once() -> None:
    first = settle(("crawl", {"WGET_ARGS": ["a"]}))
    assert settle(("crawl", {"WGET_ARGS": ["a"]}), ("snapshot", {})) is first
    assert settle(("snapshot", {"WGET_ARGS": ["a"]})) is not first
    for number in range(600):
        assert settle(("crawl", {"TIMEOUT": number + 1})).get("TIMEOUT") == number + 1


def test_values_come_in_the_type_that_is_asked_for() -> None:
    found = settle(("file", {"URL_SCHEMES": "http, https, ftp", "STOP_GRACE": "2.5", "PUBLIC_INDEX": "on"}))
    assert found.get_list("URL_SCHEMES") == ("http", "https", "ftp")
    assert found.get_float("STOP_GRACE") == 2.5
    assert (found.find_int("MAX_URLS"), found.find_int("MAX_ATTEMPTS"), found.get_int("MAX_ATTEMPTS")) == (None, 3, 3)
    assert found.get_flag("PUBLIC_INDEX") is True
    assert (found.get_text("PUBLIC_INDEX"), found.get_text("MAX_URLS")) == ("true", "")
    for name in ("URL_SCHEMES", "MAX_URLS"):
        with pytest.raises(TypeError):
            found.get_int(name)


def test_a_plugin_cannot_take_over_a_setting_of_the_core() -> None:
    thief = plugin("thief", {"TIMEOUT": {"type": "string", "default": "never"}})
    found = resolve(MappingProxyType({"thief": thief}), [])
    assert found.get("TIMEOUT") == 60
    assert found.for_plugin("thief")["TIMEOUT"] == "60"


@pytest.mark.parametrize("name", CORE_SETTINGS)
def test_the_table_of_the_core_is_sound(name: str) -> None:
    spec = CORE_SETTINGS[name]
    assert spec.description
    assert check_value(spec, spec.default) == spec.default
    assert settle().is_sensitive(name) is spec.sensitive
