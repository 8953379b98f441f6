"""The portable path passes the same tests, chosen as a user would choose it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from archivebox.lib.processes import PORTABLE


@pytest.mark.skipif(PORTABLE, reason="this is the portable run")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_portable_path_passes_these_tests() -> None:
    argv = [sys.executable, "-m", "pytest", "-q", "-x", str(Path(__file__).parent)]
    env = dict(os.environ) | {"ARCHIVEBOX_PORTABLE": "1"}
    env.pop("PYTEST_XDIST_WORKER", None)
    run = subprocess.run(argv, env=env, cwd=Path(__file__).parents[4], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
