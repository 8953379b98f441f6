"""Programs that plugins ask for."""

from pathlib import Path

import pytest

from archivebox.contract.binaries import BinaryRequest, in_known_ways, merge, parse_binaries, parse_binproviders
from archivebox.lib.jsonl import JSON


def test_both_spellings_are_read(tmp_path: Path) -> None:
    path = tmp_path / "binaries.jsonl"
    path.write_text(
        '# programs\n\n{"type": "Binary", "name": "wget", "binproviders": "apt,brew,env"}\n'
        '{"bin_name": "node", "bin_providers": ["npm"], "overrides": {"apt": {"packages": ["nodejs"]}}}\n'
    )
    requests, warnings = parse_binaries(path)
    assert warnings == ()
    assert requests == (
        BinaryRequest("wget", ("apt", "brew", "env")),
        BinaryRequest("node", ("npm",), {"apt": {"packages": ["nodejs"]}}),
    )


@pytest.mark.parametrize(
    "line",
    [
        b"wget", b"{", b"{}", b'{"name": ""}', b'{"name": 5}', b'{"name": "-rf"}', b'{"name": "../sh"}',
        b'{"name": "/bin/sh"}', b'{"name": "a b"}', b'{"name": "wget", "binproviders": 5}',
        b'{"name": "wget", "binproviders": ["APT;"]}', b'{"name": "wget", "overrides": [1]}', b"\xff\0",
    ],
)  # fmt: skip
def test_a_line_that_names_no_program_is_left_out_alone(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "binaries.jsonl"
    path.write_bytes(line + b'\n{"name": "git"}\n')
    requests, warnings = parse_binaries(path)
    assert [request.name for request in requests] == ["git"]
    assert len(warnings) == 1
    assert "line 1" in warnings[0]


def test_a_program_is_optional_only_if_all_who_ask_for_it_say_so(tmp_path: Path) -> None:
    path = tmp_path / "binaries.jsonl"
    path.write_text('{"name": "one", "optional": true}\n{"name": "one", "optional": true}\n{"name": "two"}\n')
    requests, _ = parse_binaries(path)
    assert [request.optional for request in requests] == [True, True, False]
    assert merge(requests)[0]["one"].optional
    assert not merge([*requests, BinaryRequest("one")])[0]["one"].optional


def test_a_missing_file_asks_for_nothing(tmp_path: Path) -> None:
    assert parse_binaries(tmp_path / "binaries.jsonl") == ((), ())
    (tmp_path / "folder").mkdir()
    assert parse_binaries(tmp_path / "folder")[0] == ()
    assert len(parse_binaries(tmp_path / "folder")[1]) == 1


@pytest.mark.parametrize(
    ("value", "names"),
    [(None, ()), ("*", ()), ("apt", ("apt",)), (" apt , pip,apt,", ("apt", "pip")), (["npm", "*"], ()), ([], ())],
)
def test_providers_are_in_order_without_doubles(value: JSON, names: tuple[str, ...]) -> None:
    assert parse_binproviders(value) == names


KNOWN = {"env", "apt", "brew", "npm", "pip"}


@pytest.mark.parametrize(
    ("name", "asked", "ways", "optional"),
    [
        ("rg", ("env", "cargo", "apt"), ("env", "apt"), True),  # its own runner may have it by cargo
        ("abxbus", ("pnpm",), ("npm",), False),
        ("yt-dlp", ("env", "uv", "apt"), ("env", "pip", "apt"), False),
        ("chromium", ("puppeteer",), ("env", "apt", "brew"), True),
        ("node", ("env", "node"), ("env", "apt", "brew"), True),
        ("ublock", ("chromewebstore",), ("chromewebstore",), True),  # nobody answers to that name
        ("rg", (), (), False),
    ],
)
def test_providers_of_others_are_ours_where_they_mean_the_same(
    name: str, asked: tuple[str, ...], ways: tuple[str, ...], optional: bool
) -> None:
    found = in_known_ways(BinaryRequest(name, asked), KNOWN)
    assert (found.binproviders, found.optional) == (ways, optional)


def test_what_is_said_to_a_provider_of_others_is_said_to_ours() -> None:
    options: dict[str, JSON] = {"pnpm": {"packages": ["abxbus@2.5.79"]}}
    found = in_known_ways(BinaryRequest("abxbus", ("pnpm",), options), KNOWN)
    assert found.overrides["npm"] == options["pnpm"]
    theirs = in_known_ways(BinaryRequest("abxbus", ("pnpm",), options), KNOWN | {"pnpm"})
    assert (theirs.binproviders, "npm" in theirs.overrides) == (("pnpm",), False)


def test_requests_of_one_program_merge_in_plugin_order() -> None:
    merged, conflicts = merge(
        [
            BinaryRequest("node", ("env", "apt"), {"apt": {"packages": ["nodejs"]}}),
            BinaryRequest("git"),
            BinaryRequest("node", ("apt", "brew"), {"apt": {"update": True}, "brew": {"packages": ["node"]}}),
        ]
    )
    assert conflicts == ()
    assert list(merged) == ["node", "git"]
    assert merged["node"].binproviders == ("env", "apt", "brew")
    assert merged["node"].overrides == {
        "apt": {"packages": ["nodejs"], "update": True},
        "brew": {"packages": ["node"]},
    }


def test_the_earlier_plugin_wins_a_conflict_and_it_is_told() -> None:
    merged, conflicts = merge(
        [
            BinaryRequest("x", (), {"apt": {"packages": ["a"]}, "pip": "one"}),
            BinaryRequest("x", ("apt",), {"apt": {"packages": ["b"]}, "pip": "two"}),
        ]
    )
    assert merged["x"] == BinaryRequest("x", ("apt",), {"apt": {"packages": ["a"]}, "pip": "one"})
    assert len(conflicts) == 2
