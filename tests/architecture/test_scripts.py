"""What the second step of `make types` checks: the scripts of plugins, whatever their names."""

from pathlib import Path

from tests.architecture import scripts, source

HOOK = "on_Snapshot__10_new.daemon.bg.py"


def test_errors_in_a_hook_with_dots_in_its_name_are_found(tmp_path: Path) -> None:
    plugins = tmp_path / "archivebox" / "plugins"
    for name, constant in (("one", '"text"'), ("two", "1")):
        (plugins / name).mkdir(parents=True)
        (plugins / name / "beside.py").write_text(f"VALUE = {constant}\n")
        (plugins / name / HOOK).write_text("import beside\n\nnumber: int = beside.VALUE\n")
    (error,) = scripts.errors(tmp_path, tmp_path / "links")
    assert error.startswith(f"archivebox/plugins/one/{HOOK}:3: error: Incompatible types in assignment")


def test_every_script_of_a_plugin_is_checked() -> None:
    found = scripts.scripts(source.ROOT)
    hooks = {path for kind in ("archivebox", "tests") for path in (source.ROOT / kind).glob("plugins/*/on_*.py")}
    assert hooks <= set(found)
    linked = [script for group in scripts.groups(found) for some in group.values() for script in some]
    assert sorted(linked) == sorted(found)
    assert len({scripts.module_name(script) for script in found}) == len(found)
