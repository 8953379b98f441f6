"""Checks names: of classes and functions, in messages, and of commits (`make names`)."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.architecture import source

RULES: Mapping[str, Mapping[str, str]] = tomllib.loads((Path(__file__).parent / "names.toml").read_text())
LONGEST_SUBJECT = 72
"""Characters that `git log --oneline` and the pages of code hosts show."""
LONGEST_TEST = 80
"""Characters of a test's name: with its indent and ``def`` it fits a line, and it is read at once."""
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
DOCUMENTED = ast.Module | ast.ClassDef | FUNCTIONS
TEXTS = (".html", ".js", ".json", ".txt")
"""Files of the package, beside Python, whose words people read."""


def duplicate_classes(trees: Iterable[ast.Module], accepted: Mapping[str, object]) -> list[str]:
    """Names of classes that occur more than once and are not accepted."""
    found = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    more = sorted(name for name, count in found.items() if count > 1 and name not in accepted)
    return [
        f"{name}: {found[name]} classes; a name says which it is, or stands in names.toml with a reason"
        for name in more
    ]


def public_names(path: Path, tree: ast.Module) -> Iterator[str]:
    """Names that other modules see: of the module itself, its classes, functions and methods."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef | FUNCTIONS))
    yield from (name for name in (path.stem, *(node.name for node in nodes)) if not name.startswith("_"))


def messages(tree: ast.Module) -> Iterator[str]:
    """Texts of a module that it may show to people: every string but docstrings."""
    documented = (node for node in ast.walk(tree) if isinstance(node, DOCUMENTED) and node.body)
    docstrings = {id(node.body[0].value) for node in documented if isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def banned_words(text: str, banned: Mapping[str, str]) -> list[str]:
    """Banned words in a text that people read, as whole words, each with what to write instead."""
    found = [word for word in banned if word in text and re.search(rf"\b{re.escape(word)}(?!\w)", text)]
    return [f"{word!r}: write {banned[word]!r}" for word in found]


def long_test_names(tree: ast.Module) -> list[str]:
    """Tests of a module whose names are too long."""
    tests = (node.name for node in ast.walk(tree) if isinstance(node, FUNCTIONS) and node.name.startswith("test_"))
    return [name for name in tests if len(name) > LONGEST_TEST]


def long_subjects(repository: Path, after: str, since: str) -> list[str]:
    """Subjects of commits that are too long; none where there is no history to read."""
    known = _git(repository, "cat-file", "-e", f"{after}^{{commit}}") is not None
    scope = [f"^{after}"] if known else [f"--since={since}"]
    log = _git(repository, "log", "--no-merges", "--format=%s", "HEAD", *scope) or ""
    return [subject for subject in log.splitlines() if len(subject) > LONGEST_SUBJECT]


def _git(repository: Path, *words: str) -> str | None:
    """What git prints; None where it fails or is not installed."""
    try:
        done = subprocess.run(["git", "-C", repository, *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def findings() -> Iterator[str]:
    """Every breach of the rules, a line each."""
    trees = {path: source.parse(path) for path in source.modules()}
    yield from duplicate_classes(trees.values(), RULES["accepted"])
    for path, tree in trees.items():
        names = sorted(set(public_names(path, tree)) & RULES["names"].keys())
        yield from (f"{source.shown(path)}: {name}: call it {RULES['names'][name]}" for name in names)
        for text in messages(tree):
            yield from (f"{source.shown(path)}: {said}" for said in banned_words(text, RULES["messages"]))
    for path in sorted(path for path in source.PACKAGE.rglob("*") if path.suffix in TEXTS):
        said = banned_words(path.read_text(encoding="utf-8", errors="replace"), RULES["messages"])
        yield from (f"{source.shown(path)}: {sentence}" for sentence in said)
    for path in sorted((source.ROOT / "tests").rglob("test_*.py")):
        for name in long_test_names(source.parse(path)):
            yield f"{source.shown(path)}: {name} has {len(name)} characters, at most {LONGEST_TEST} are allowed"
    for subject in long_subjects(source.ROOT, **RULES["commits"]):
        yield f"A commit's subject has {len(subject)} characters, at most {LONGEST_SUBJECT} are allowed: {subject}"


if __name__ == "__main__":
    found = list(findings())
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
