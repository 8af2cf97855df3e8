"""The machine room: runs experiments, stores them, compares and draws them.

Nothing of the paper is in here. `runs.py` runs anything by one function, `compare`; `tables.py` and
`charts.py` show what came of it; `study.py` tunes, sweeps and judges the paper's claims.
"""
import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                  "VECLIB_MAXIMUM_THREADS"):
    os.environ[_variable] = "1"    # before NumPy is imported: processes run in parallel, not threads

from lab.runs import compare, tuned  # noqa: E402

__all__ = ["compare", "tuned"]
