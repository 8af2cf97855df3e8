"""For students: which exercises are solved, and a hint for each that is not."""
import os
import sys
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                 "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]


def pytest_terminal_summary(terminalreporter):
    stats = terminalreporter.stats
    reports = {}
    for report in stats.get("passed", []) + stats.get("failed", []):
        if report.when == "call" and "check_exercises" in report.nodeid:
            reports[report.nodeid.split("::test_")[-1]] = report
    for name, report in sorted(reports.items()):
        terminalreporter.write_line(f"{name.replace('_', ' '):24} {outcome(report)}")


def outcome(report):
    """Solved, or the first line of what the check or the blank says."""
    if report.passed:
        return "solved"
    said = report.longrepr.reprcrash.message.splitlines()[0]
    return said.removeprefix("AssertionError: ").removeprefix("NotImplementedError: ")
