"""Settings of plugins: what is declared, what text means, what the environment carries."""

import json

import pytest

from archivebox.contract.schema import (
    SettingSpec,
    check_value,
    parse_value,
    read_schema,
    read_setting,
    to_env,
)
from archivebox.lib.jsonl import JSON


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("boolean", "true", True), ("boolean", " 1 ", True), ("boolean", "off", False), ("integer", "60", 60),
        ("integer", " -5 ", -5), ("number", "2.5", 2.5), ("number", "3", 3), ("number", "1e3", 1000.0),
        ("string", "", ""), ("string", " kept ", " kept "), ("string", "true", "true"), ("string", "日本", "日本"),
        ("array", "", []), ("array", "--a, --b=c,", ["--a", "--b=c"]), ("array", '["--a", "x,y"]', ["--a", "x,y"]),
        ("object", '{"a": [1]}', {"a": [1]}),
    ],
)  # fmt: skip
def test_text_becomes_the_value_it_means(kind: str, text: str, value: JSON) -> None:
    parsed = parse_value(SettingSpec("X", kind), text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("boolean", ""), ("boolean", "maybe"), ("integer", ""), ("integer", "1.5"), ("integer", "9" * 30),
        ("integer", "١٢"), ("integer", "1_000"), ("number", "nan"), ("number", "inf"), ("number", "x"),
        ("array", "[1,"), ("array", "[" * 100_000), ("object", ""), ("object", "[]"), ("string", "a\0b"),
        ("string", "\ud800"),
    ],
)  # fmt: skip
def test_text_that_means_nothing_is_refused_with_a_sentence(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"^X (cannot be|holds) "):
        parse_value(SettingSpec("X", kind), text)


def test_the_sentence_says_what_is_allowed_and_keeps_secrets() -> None:
    spec = SettingSpec("WGET_TIMEOUT", "integer", 60, minimum=1, maximum=3600)
    with pytest.raises(ValueError, match=r"WGET_TIMEOUT cannot be 0: it takes a whole number from 1 to 3600$"):
        check_value(spec, "0")
    with pytest.raises(ValueError, match=r"one of page, host$"):
        check_value(SettingSpec("SCOPE", enum=("page", "host")), "all")
    with pytest.raises(ValueError, match="a secret value") as caught:
        check_value(SettingSpec("KEY", "integer", sensitive=True), "hunter2")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(("value", "meant"), [("linked", "linked"), ("yes", True), (False, False), ("off", False)])
def test_a_boolean_may_have_words_as_further_values(value: JSON, meant: JSON) -> None:
    spec = SettingSpec("KEEP", "boolean", True, enum=(True, False, "linked"))
    assert check_value(spec, value) == meant
    with pytest.raises(ValueError, match="one of true, false, linked"):
        check_value(spec, "linkd")


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        (SettingSpec("X", "integer"), True),
        (SettingSpec("X", "integer"), 1.5),
        (SettingSpec("X", "boolean"), 1),
        (SettingSpec("X", "string"), 1440),
        (SettingSpec("X", "array", items="integer"), ["x"]),
        (SettingSpec("X", "array", items="string"), [{"a": 1}]),
        (SettingSpec("X", "array", items="string"), ["a\0"]),
        (SettingSpec("X", "number"), float("nan")),
        (SettingSpec("X", "string", pattern=r"^\d+,\d+$"), "big"),
        (SettingSpec("X", "integer", minimum=1), 0),
        (SettingSpec("X", "number", maximum=2), 2.1),
    ],
)
def test_values_of_another_type_are_refused(spec: SettingSpec, value: JSON) -> None:
    with pytest.raises(ValueError, match="X"):
        check_value(spec, value)


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (None, ""), (60, "60"), (2.5, "2.5"), ("a b", "a b")],
)
def test_plain_values_reach_the_environment_plainly(value: JSON, text: str) -> None:
    assert to_env(value) == text


@pytest.mark.parametrize("value", [[], ["--a", "é"], {"b": {"c": [True, None]}}])
def test_lists_and_objects_reach_the_environment_as_json(value: JSON) -> None:
    assert json.loads(to_env(value)) == value


def test_every_plugin_has_enabled_and_timeout() -> None:
    schema, warnings = read_schema("parse_html-urls", {})
    assert warnings == ()
    assert set(schema.settings) == {"PARSE_HTML_URLS_ENABLED", "PARSE_HTML_URLS_TIMEOUT"}
    assert schema.settings["PARSE_HTML_URLS_ENABLED"].default is True
    assert schema.settings["PARSE_HTML_URLS_TIMEOUT"].fallback == "TIMEOUT"


def test_a_plugin_that_runs_a_program_has_its_settings_by_itself() -> None:
    schema, warnings = read_schema("wget", {"title": "Copies"}, ["wget", "other"])
    assert warnings == ()
    assert schema.settings["WGET_BINARY"].default == "wget"
    assert (schema.settings["WGET_ARGS"].items, schema.settings["WGET_ARGS"].default) == ("string", [])
    assert schema.canonical()["WGET_EXTRA_ARGS"] == "WGET_ARGS_EXTRA"
    assert schema.canonical()["SAVE_WGET"] == "WGET_ENABLED"
    assert schema.settings["WGET_ENABLED"].description == "Run wget: Copies"


def test_only_what_is_particular_has_to_be_declared_of_a_standard_setting() -> None:
    properties: JSON = {
        "P_TIMEOUT": {"minimum": 5},
        "P_ENABLED": {"default": False, "x-aliases": ["USE_P"]},
        "P_ARGS": {"default": ["-q"]},
    }
    schema, warnings = read_schema("p", {"properties": properties}, ["p"])
    assert warnings == ()
    timeout, enabled, arguments = (schema.settings[f"P_{name}"] for name in ("TIMEOUT", "ENABLED", "ARGS"))
    assert (timeout.type, timeout.minimum, timeout.fallback) == ("number", 5, "TIMEOUT")
    assert (enabled.type, enabled.default, enabled.aliases) == ("boolean", False, ("SAVE_P", "USE_P"))
    assert (arguments.type, arguments.items, arguments.default) == ("array", "string", ["-q"])


def test_a_standard_setting_of_another_type_is_as_it_is_for_every_plugin() -> None:
    schema, _ = read_schema("p", {"properties": {"P_ENABLED": {"type": "string", "default": "maybe"}}})
    assert (schema.settings["P_ENABLED"].type, schema.settings["P_ENABLED"].default) == ("boolean", True)


def test_a_setting_says_whether_a_crawl_can_have_a_value_of_its_own() -> None:
    properties: JSON = {"P_PORT": {"type": "integer", "x-scope": "collection"}, "P_BAD": {"x-scope": "planet"}}
    schema, (warning,) = read_schema("p", {"x-scope": "machine", "properties": properties})
    assert "planet" in warning
    scopes = {name: spec.scope.value for name, spec in schema.settings.items()}
    assert scopes == {"P_ENABLED": "machine", "P_TIMEOUT": "machine", "P_PORT": "collection"}


@pytest.mark.parametrize("name", ["TRUSTED_PROXIES", "REVERSE_PROXY_USER_HEADER", "WGET_BINARY", "MACHINE_ID"])
def test_what_gives_the_rights_of_others_is_set_from_a_terminal_alone(name: str) -> None:
    assert SettingSpec(name, "string", "", "").is_local


def test_what_is_declared_is_kept() -> None:
    schema, warnings = read_schema(
        "ytdlp",
        {
            "properties": {
                "YTDLP_ENABLED": {"type": "boolean", "default": False, "x-aliases": ["SAVE_YTDLP", "MEDIA_ENABLED"]},
                "YTDLP_TIMEOUT": {"type": "integer", "default": 3600, "minimum": 30},
                "YTDLP_TOKEN": {"type": ["string", "null"], "default": None},
            }
        },
    )
    assert warnings == ()
    assert schema.settings["YTDLP_ENABLED"].aliases == ("SAVE_YTDLP", "MEDIA_ENABLED")
    assert schema.settings["YTDLP_TIMEOUT"].default == 3600
    assert schema.settings["YTDLP_TIMEOUT"].fallback is None
    assert schema.settings["YTDLP_TOKEN"].sensitive
    assert parse_value(schema.settings["YTDLP_TOKEN"], "null") is None
    assert schema.canonical()["MEDIA_ENABLED"] == "YTDLP_ENABLED"


@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("lower", {"type": "string"}), ("X Y", {"type": "string"}), ("X", "string"), ("X", {"type": "text"}),
        ("X", {"type": ["string", "integer"]}), ("X", {"type": 5}), ("X", {"type": "integer", "default": "many"}),
        ("X", {"type": "integer", "default": 0, "minimum": 1}),
    ],
)  # fmt: skip
def test_a_wrong_declaration_is_refused_alone(name: str, declared: JSON) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_setting(name, declared)
    schema, warnings = read_schema("p", {"properties": {name: declared, "P_GOOD": {"type": "string"}}})
    assert len(warnings) == 1
    assert "P_GOOD" in schema.settings
    assert name not in schema.settings


@pytest.mark.parametrize("properties", [None, [], "x", 5])
def test_properties_of_any_kind_leave_the_standard_settings(properties: JSON) -> None:
    schema, warnings = read_schema("p", {"properties": properties})
    assert len(warnings) == 1
    assert set(schema.settings) == {"P_ENABLED", "P_TIMEOUT"}


def test_odd_details_of_a_declaration_are_left_out() -> None:
    spec = read_setting(
        "X", {"pattern": "(", "minimum": "a", "x-aliases": 5, "x-fallback": [], "enum": {}, "items": [], "default": "a"}
    )
    assert (spec.pattern, spec.minimum, spec.aliases, spec.fallback, spec.enum) == (None, None, (), None, ())
