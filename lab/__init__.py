"""The machine room: runs experiments, stores, compares and draws them.

A reader who never opens it misses nothing of the paper's methods. `runs.py` has the one function
that runs anything, `compare`; `identity.py`, `store.py` and `processes.py` are how it does so;
`tables.py` and `charts.py` show what came of it; `command.py` is the scripts' command line;
`study.py` tunes, sweeps, judges the paper's claims and writes the report, with `paper.py`, the
paper's tables, and `variants.py`, methods of its own. Three questions have a file each: `why.py`,
what GuideBoot does; `real.py`, does it on public tables; `alpha.py`, what alpha means.
"""
import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                  "VECLIB_MAXIMUM_THREADS"):
    os.environ[_variable] = "1"        # before NumPy is imported: processes, not threads

from lab.runs import compare, tuned  # noqa: E402

__all__ = ["compare", "tuned"]
