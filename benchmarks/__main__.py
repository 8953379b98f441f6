"""``python -m benchmarks [name…] [--rounds 5] [--json]``: each benchmark in a process and a collection of its own."""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import django

from benchmarks.finding import Bound, Finding

REPOSITORY = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Where one is, and in which environment it runs."""

    module: str
    function: str = "run"
    env: Mapping[str, str] = field(default_factory=dict)


_WEB = {"DJANGO_SETTINGS_MODULE": "archivebox.web.settings", "SECRET_KEY": "x" * 50}
BENCHMARKS = {
    "engine-bash": Benchmark("engine", "bash"),
    "engine-cold": Benchmark("engine", "cold", {"ARCHIVEBOX_FORK": "0"}),
    "engine-forked": Benchmark("engine", "forked"),
    "latency": Benchmark("latency"),
    "leases": Benchmark("leases"),
    "fleet": Benchmark("fleet"),
    "wakes": Benchmark("wakes"),
    "placement": Benchmark("placement"),
    "sharing": Benchmark("sharing"),
    "due": Benchmark("due"),
    "recovery": Benchmark("recovery"),
    "restart": Benchmark("restart"),
    "page": Benchmark("page", env={"WORKERS": "1", "SNAPSHOTS_IN_FLIGHT": "1"}),
    "by-hand": Benchmark("by_hand", env={"WORKERS": "1", "SNAPSHOTS_IN_FLIGHT": "1"}),
    "pages": Benchmark("pages"),
    "full-set": Benchmark("full_set"),
    "spread": Benchmark("spread"),
    "slow-hosts": Benchmark("slow_hosts"),
    "add": Benchmark("add"),
    "capture": Benchmark("capture", env={"WORKERS": "1", "SNAPSHOTS_IN_FLIGHT": "1"}),
    "full-page": Benchmark("capture", "full_page", {"WORKERS": "1", "SNAPSHOTS_IN_FLIGHT": "1"}),
    "start": Benchmark("start"),
    "bulk": Benchmark("bulk"),
    "text-search": Benchmark("text_search"),
    "backup": Benchmark("backup"),
    "import": Benchmark("importing"),
    "beside-add": Benchmark("beside_add"),
    "idle": Benchmark("idle"),
    "egress": Benchmark("egress"),
    "article": Benchmark("article", env={"MERCURY_ENABLED": "true", "TRAFILATURA_ENABLED": "true"}),
    "recorder": Benchmark("recorder"),
    "replay": Benchmark("replay"),
    "replay-views": Benchmark("replay_views"),
    "library": Benchmark("library", env=_WEB),
    "facets": Benchmark("library", "facets_of_a_search", env=_WEB),
    "crawl-page": Benchmark("crawl_page", env=_WEB),
    "viewers": Benchmark("viewers", env=_WEB),
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks", description="Measure the program against its floors.")
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"of {', '.join(BENCHMARKS)}; `engine` means all three"
    )
    parser.add_argument("--rounds", type=int, default=5, help="how often floor and ours take turns")
    parser.add_argument("--json", action="store_true", help="a JSON document instead of lines")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.here:
        return run_here(BENCHMARKS[given.names[0]], given.rounds)
    wanted = chosen(given.names)
    if not wanted:
        parser.error(f"no such benchmark: {' '.join(given.names)}")
    return run_all(wanted, given.rounds, as_json=given.json)


def chosen(names: Sequence[str]) -> list[str]:
    return [key for key in BENCHMARKS if not names or any(key == name or key.startswith(f"{name}-") for name in names)]


def run_all(names: Sequence[str], rounds: int, *, as_json: bool) -> int:
    """Run one after the other; 1 when a bound is missed or a benchmark breaks."""
    findings: dict[str, list[Finding] | None] = {}
    for name in names:
        findings[name] = run_apart(name, rounds)
        if not as_json:
            for finding in findings[name] or []:
                print(*finding.lines(), sep="\n", flush=True)
    if as_json:
        said = {name: None if found is None else [one.as_json() for one in found] for name, found in findings.items()}
        print(json.dumps(said, indent=1))
    kept = all(found is not None and all(one.holds for one in found) for found in findings.values())
    return 0 if kept else 1


def run_apart(name: str, rounds: int) -> list[Finding] | None:
    """Run one benchmark in a process of its own, which holds one collection; None when it broke."""
    with tempfile.TemporaryDirectory(prefix=f"bench-{name}-") as folder:
        env = {**os.environ, "DATA_DIR": f"{folder}/data", "DJANGO_SETTINGS_MODULE": "archivebox.config.settings"}
        env |= BENCHMARKS[name].env
        for unwanted in ("ARCHIVEBOX_PROCESS_ID", "PYTHONDONTWRITEBYTECODE"):
            env.pop(unwanted, None)  # who archives has compiled files
        command = [sys.executable, "-m", "benchmarks", name, "--here", "--rounds", str(rounds)]
        done = subprocess.run(command, cwd=REPOSITORY, env=env, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        print(f"BROKE {name}: exit {done.returncode}", file=sys.stderr)
        return None
    rows: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    derived = {"value", "holds", "cpu_ratio"}
    return [
        Finding(**{**{key: value for key, value in row.items() if key not in derived}, "kind": Bound(row["kind"])})
        for row in rows
    ]


def run_here(benchmark: Benchmark, rounds: int) -> int:
    """In the process of one benchmark: open its collection, then import what needs models."""
    django.setup()
    importlib.import_module("archivebox.config.collection").open_collection(create=True)
    findings = getattr(importlib.import_module(f"benchmarks.{benchmark.module}"), benchmark.function)(rounds)
    print(json.dumps([finding.as_json() for finding in findings]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
