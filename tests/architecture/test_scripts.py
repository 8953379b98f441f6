"""What the second step of `make types` checks: the scripts of plugins, whatever their names."""

from tests.architecture import scripts, source


def test_every_script_of_a_plugin_is_checked() -> None:
    found = scripts.scripts(source.ROOT)
    hooks = {path for kind in ("archivebox", "tests") for path in (source.ROOT / kind).glob("plugins/*/on_*.py")}
    assert hooks <= set(found)
    linked = [script for group in scripts.groups(found) for some in group.values() for script in some]
    assert sorted(linked) == sorted(found)
    assert len({scripts.module_name(script) for script in found}) == len(found)
