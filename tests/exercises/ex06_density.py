"""6. A density of your own where Eq. 7 fails (Section 3.4).

A shop has four departments of eight offers. In each, one offer sells to three visitors of five, the
others to one in five. In two departments eight items have the same picture, in the other two one
item has eight pictures. The candidates of a request are the offers of a department, for a visitor
who was never there before: rows of three ids, [item, picture, visitor].

Look at `guideboot.Harmonic`: what are rho and g (alpha = 1) of a row whose item was shown once, and
a thousand times? Which rows should have fakes, and when should fakes fade? Write a density with at
most 0.4 of Eq. 7's regret. `python tests/exercises/ex06_density.py measure` compares the two; the
check does so on other seeds. No fakes at all (a huge rho) will not do, nor will half as many for
all rows (twice Eq. 7), nor the count of one id, as guideboot.AdCount has it: try them.
"""
import helper

import numpy as np

from envs import Scored, stream
from guideboot import GuideBoot, Harmonic, replay
from nn import LogisticBag

STEPS = 1500


class MyDensity:
    def __init__(self, features):
        raise NotImplementedError("it has the methods of guideboot.AdCount; what it keeps is up to "
                                  "you")

    def update(self, X):
        """Count the rows just shown: here one row (3,) at a time."""
        raise NotImplementedError("as in guideboot.AdCount, but which ids?")

    def __call__(self, X):
        """rho (...) of the rows X (..., 3)."""
        raise NotImplementedError("of which ids should the counts go into rho?")


class Shop:
    fields, features = 3, 64 + STEPS   # items 0-31, pictures 32-63, then the visitors

    def __init__(self, seed):
        sells = np.tile([0.2] * 7 + [0.6], (4, 1))
        self._y = stream(seed, "weights").permuted(sells, axis=1)    # (departments, offers)
        self.rewards, self.t = stream(seed, "rewards"), -1
        offers = np.arange(32).reshape(4, 8)
        self.X = np.stack([offers, 32 + offers, offers], axis=2)     # (departments, offers, 3)
        self.X[::2, :, 0] = self.X[::2, :1, 0]                       # one item, eight pictures
        self.X[1::2, :, 1] = self.X[1::2, :1, 1]                     # one picture, eight items

    def observe(self):
        self.t += 1
        self.department = self.t % 4
        X = self.X[self.department]
        X[:, 2] = 64 + self.t                                        # a visitor never seen before
        return X

    def _expected(self):
        return self._y[self.department]

    def pull(self, a):
        return int(self.rewards.random() < self._expected()[a])


def regret(density, seeds):
    """Mean regret of GuideBoot with this density."""
    total = 0.0
    for seed in seeds:
        env = Scored(Shop(seed), STEPS)
        rngs = [stream(seed, "models", k) for k in range(3)]
        bag = LogisticBag(env.features, rngs, learning_rate=0.05)
        agent = GuideBoot(bag, stream(seed, "agent"), density(env.features))
        replay(agent, env, STEPS, b=32)
        total += env.regret.sum()
    return total / len(seeds)


def measure():
    print(f"mine {regret(MyDensity, range(5)):.0f}, Eq. 7 {regret(Harmonic, range(5)):.0f}")


def check(seeds=range(100, 116)):
    density = MyDensity(Shop.features)
    density.update(np.array([0, 32, 64]))
    shape = np.shape(density(np.zeros((5, 7, 3), int)))
    assert shape == (5, 7), f"rho of rows (5, 7, 3) has one number for each, (5, 7), not {shape}"
    part = regret(MyDensity, seeds) / regret(Harmonic, seeds)
    assert part < 0.4, (
        f"it has {part:.2f} of Eq. 7's regret, not yet 0.40: fakes lift the offers that have them "
        "towards 1/2; which offers should be lifted, and by the counts of which ids?")


if __name__ == "__main__":
    helper.main(check, measure)
