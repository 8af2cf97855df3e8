"""What protects the code: the first 300 choices of every method, made again.

choices.json holds the candidates that every method of both tasks chose. On the arithmetic that made
the file all of them come out again. On any other, rounding may turn a choice between candidates
whose scores are nearly equal, closer than NEAR: such a choice is made as in the file, and all 300
are compared. A clarification that changes no number changes no test. After a
change that is meant to change numbers:

    python tests/test_choices.py           writes the file anew
"""
import argparse
import json
import sys
from functools import partial
from pathlib import Path

import pytest

FILE = Path(__file__).parent / "choices.json"
sys.path.insert(0, str(FILE.parent.parent))

from lab.store import where             # first: it sets one BLAS thread

import baselines
import envs
import guideboot
import run_ads
import run_synthetic
from lab.tables import label

STEPS = 300
NEAR = {("synthetic", "float64"): 1e-9, ("ads", "float32"): 1e-3,    # logits of networks
        ("ads", "float64"): 1e-5}                                    # CTRs computed from them
TASKS = {"synthetic": (envs.Synthetic, run_synthetic.METHODS, {}),
         "ads": (partial(envs.Ads, scale=0.02), run_ads.METHODS, {"buffer": 32})}
ROWS = {f"{task}: {label(row)}": (task, row) for task in TASKS for row in TASKS[task][1]}


class Watched(envs.Scored):
    """An environment that writes down what is chosen."""
    latest = None

    def __init__(self, env):
        super().__init__(env, STEPS)
        self.chosen = []
        Watched.latest = self

    def pull(self, a):
        self.chosen.append(a)
        return super().pull(a)


def choices(task, row):
    """The candidates that a method chooses on seed 0."""
    make, methods, options = TASKS[task]
    if row[0] == "yardstick":
        options = {}
    env = Watched(make(0))
    methods[row](env, STEPS, 0, **options)
    return env.chosen


@pytest.mark.parametrize("name", ROWS)
def test_every_method_chooses_as_before(name, monkeypatch):
    kept = json.loads(FILE.read_text())
    expected = kept["choices"][name]
    inner = guideboot.argmax

    def argmax(scores, rng):
        """As in the file, if that candidate's score is nearly the best."""
        a = inner(scores, rng)
        as_kept = expected[len(Watched.latest.chosen)]
        near = NEAR[ROWS[name][0], str(scores.dtype)]
        if as_kept < len(scores) and scores[a] - scores[as_kept] < near:
            a = as_kept
        return a

    if kept["made on"] != where():
        monkeypatch.setattr(guideboot, "argmax", argmax)
        monkeypatch.setattr(baselines, "argmax", argmax)
    assert choices(*ROWS[name]) == expected


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.error = lambda message: parser.exit(2, f"test_choices.py: {message}\n")
    parser.parse_args()
    made = {name: choices(*row) for name, row in ROWS.items()}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(chosen)}"
                       for name, chosen in made.items())
    FILE.write_text(f'{{"made on": {json.dumps(where())},\n "choices": {{\n{lines}\n }}}}\n')
