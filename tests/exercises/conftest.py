"""For students: which exercises are solved, and a hint for each that is not."""
import os
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]


def pytest_terminal_summary(terminalreporter):
    reports = {r.nodeid.split("::test_")[-1]: r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, [])
               if r.when == "call" and "check_exercises" in r.nodeid}
    for name in sorted(reports):
        said = "solved" if reports[name].passed else reports[name].longrepr.reprcrash.message.splitlines()[0]
        terminalreporter.write_line(f"{name.replace('_', ' '):24} {said.removeprefix('AssertionError: ').removeprefix('NotImplementedError: ')}")
