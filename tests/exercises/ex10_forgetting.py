"""10. Drift and forgetting: one reason why the online methods may win on the ads (Tables 3 and 4).

After half of the run below, tastes turn over: the best action becomes the worst. `replay` resamples
its whole history, the half that has become false too. Write a History that resamples only its
newest `window` rows, and compare, with the change and without it, run by run:
`python -m tests.exercises.ex10_forgetting`. (A single 300 without the turn is a run that settled on
the second best action early; it happens to either.) Then try it on the ads: `run_ads.py` with and
without `--drift 0`.
"""
import numpy as np

import guideboot
from envs import Scored, stream
from nn import LogisticBag


class Recent(guideboot.History):
    window = 500

    def resample(self, shape, rng):
        """Rows (shape, J) and rewards (shape), drawn uniformly with replacement.

        They are drawn from the newest `window` stored, or all if fewer.
        """
        raise NotImplementedError("see guideboot.History.resample: only the rows that it draws "
                                  "from are others")


class Turning:
    """Five actions; with `turn` the expected rewards are turned round after so many steps."""
    fields, features = 1, 5

    def __init__(self, seed, turn=None):
        self.rng, self.turn, self.t = stream(seed, "rewards"), turn, 0

    def observe(self):
        self.t += 1
        return np.arange(5)[:, None]

    def _expected(self):
        y = np.array([0.1, 0.2, 0.3, 0.4, 0.6])
        return y[::-1] if self.turn and self.t > self.turn else y

    def pull(self, a):
        return int(self.rng.random() < self._expected()[a])


def regret(history, turn, runs=5, steps=3000):
    """Regret of GuideBoot in the second half of each run, with this kind of history."""
    ours = guideboot.History
    total = []
    guideboot.History = history
    try:
        for seed in range(runs):
            env = Scored(Turning(seed, turn), steps)
            rngs = [stream(seed, "models", k) for k in range(5)]
            bag = LogisticBag(5, rngs, learning_rate=0.01)
            agent = guideboot.GuideBoot(bag, stream(seed, "agent"), guideboot.AdCount(5))
            guideboot.replay(agent, env, steps, b=32)
            total.append(env.regret[steps // 2:].sum())
    finally:
        guideboot.History = ours
    return np.array(total)


if __name__ == "__main__":
    for turn in (1500, None):
        words = "with the turn   " if turn else "without the turn"
        for history in (Recent, guideboot.History):
            found = regret(history, turn, runs=10).round().astype(int)
            print(words, f"{history.__name__:8}", found)
