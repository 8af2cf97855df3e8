"""Tests import the modules from the folder above, use one BLAS thread and leave nothing behind."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                 "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"
STORAGE = tempfile.TemporaryDirectory()                      # removed at exit
os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = STORAGE.name
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pytest
from hypothesis import Phase, settings

settings.register_profile("project", deadline=None, derandomize=True, database=None,
                          max_examples=60)
# For test_silent_bug.py: any example that fails will do, the smallest takes seconds to find; for
# test_handout.py the first, for what is missing fails at once.
settings.register_profile("any-example", settings.get_profile("project"),
                          phases=(Phase.explicit, Phase.generate))
settings.register_profile("one-example", settings.get_profile("any-example"), max_examples=1)
settings.load_profile("project")


@pytest.fixture(scope="session")
def python():
    """Python with these arguments, in a folder, to an end with this exit code."""
    def run(folder, *words, code=0, **options):
        done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True,
                              **options)
        assert done.returncode == code, done.stderr or done.stdout
        return done
    return run


@pytest.fixture
def no_workers(monkeypatch):
    """Runs are made in this process: to start others takes longer, and is for test_lab.py."""
    from lab import runs
    monkeypatch.setattr(runs.Runner, "in_processes", lambda runner, workers: runner.here())
