"""What protects the code: the first 300 choices of every method, made again.

choices.json holds the candidates that every method of both tasks chose. On the arithmetic that made
the file all of them come out again; on any other, rounding may turn a near-tie, so they are
compared up to the first step whose two best scores differ by less than NEAR. A clarification that
changes no number changes no test. After a change that is meant to change numbers:

    python tests/test_choices.py           writes the file anew
"""
import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

FILE = Path(__file__).parent / "choices.json"
sys.path.insert(0, str(FILE.parent.parent))

from lab.store import where             # first: it sets one BLAS thread

import envs
import guideboot
import run_ads
import run_synthetic
from lab.tables import label

STEPS = 300
NEAR = 1e-4
TASKS = {"synthetic": (envs.Synthetic, run_synthetic.METHODS, {}),
         "ads": (partial(envs.Ads, scale=0.02), run_ads.METHODS, {"buffer": 32})}
ROWS = {f"{task}: {label(row)}": (task, row) for task in TASKS for row in TASKS[task][1]}


class Watched(envs.Scored):
    """An environment that writes down what is chosen."""

    def __init__(self, env):
        super().__init__(env, STEPS)
        self.chosen = []

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


def near_tie(scores):
    """Are the two best closer than NEAR? All equal, or all 0 or 1, is so on any arithmetic."""
    exact = np.isin(scores, (0.0, 1.0)).all() or scores.min() == scores.max()
    second, first = np.sort(scores)[-2:]
    return not exact and first - second < NEAR


@pytest.mark.parametrize("name", ROWS)
def test_every_method_chooses_as_before(name, monkeypatch):
    """The i-th comparison of scores is at step i or later: a step that explores compares none."""
    kept = json.loads(FILE.read_text())
    near = []
    inner = guideboot.largest

    def largest(scores):
        near.append(near_tie(scores))
        return inner(scores)

    if kept["made on"] != where():
        monkeypatch.setattr(guideboot, "largest", largest)
    chosen = choices(*ROWS[name])
    steps = near.index(True) if True in near else STEPS
    assert chosen[:steps] == kept["choices"][name][:steps]


if __name__ == "__main__":
    made = {name: choices(*row) for name, row in ROWS.items()}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(chosen)}"
                       for name, chosen in made.items())
    FILE.write_text(f'{{"made on": {json.dumps(where())},\n "choices": {{\n{lines}\n }}}}\n')
