"""What every module of the program has in common."""

import ast
import tomllib

from tests.architecture import source

NAMES_THAT_OWN_NOTHING = {"utils", "util", "misc", "common", "helpers", "helper", "managers"}
# Well-kept projects of our kind have 1 to 4 imports inside functions per 1,000 lines, each a knot in the layers.
MOST_INNER_IMPORTS_PER_1000_LINES = 1.0
NO_LAYER = {"__main__", "plugins"}  # the start, and scripts that nothing imports


def test_no_module_is_named_after_nothing() -> None:
    named = [source.shown(path) for path in source.modules() if {path.stem, path.parent.name} & NAMES_THAT_OWN_NOTHING]
    assert named == []


def test_an_import_inside_a_function_is_rare_and_says_why() -> None:
    silent, count, lines = [], 0, 0
    for path in source.modules():
        text = path.read_text().splitlines()
        lines += len(text)
        for node in source.imports_in_functions(path):
            count += 1
            if "  # " not in text[node.lineno - 1]:
                silent.append(f"{source.shown(path)}:{node.lineno}")
    assert silent == [], "an import inside a function carries its reason on its line"
    assert count <= max(1, lines / 1000 * MOST_INNER_IMPORTS_PER_1000_LINES)


def names_bound_in(tree: ast.Module) -> set[str]:
    """Names that a module defines or imports; with a ``__getattr__``, also the texts by which it may look them up."""
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            bound.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            bound.add(node.value)
    return bound


def test_what_hook_scripts_import_from_us_exists() -> None:
    """The type checker sees no script whose name is no module's."""
    missing = []
    for path in sorted(source.PACKAGE.glob("plugins/*/on_*.py")):
        for node in ast.walk(source.parse(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("archivebox."):
                place = source.ROOT / (node.module or "").replace(".", "/")
                module = place.with_suffix(".py") if place.with_suffix(".py").exists() else place / "__init__.py"
                bound = names_bound_in(source.parse(module)) | {each.stem for each in place.glob("*.py")}
                missing += [f"{path.name}: {name.name}" for name in node.names if name.name not in bound]
    assert missing == []


def test_every_package_has_its_layer() -> None:
    contracts = tomllib.loads((source.ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    house = next(contract for contract in contracts if contract["id"] == "house")
    layered = {
        name.strip(" ()").split(".")[0] for layer in house["layers"] for name in layer.replace(":", "|").split("|")
    }
    there = {path.parent.name for path in source.PACKAGE.glob("*/__init__.py")}
    there |= {path.stem for path in source.PACKAGE.glob("*.py") if path.stem != "__init__"}
    assert there - layered - NO_LAYER == set()
