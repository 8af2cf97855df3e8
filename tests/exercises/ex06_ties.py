"""6. Ties. Early in a run most estimates are 0, and the argmax has many answers.

Write the argmax of a hurry, which takes the first of the largest scores (NumPy's does). Then
predict, and then measure with `regret` below (`python -m tests.exercises.ex06_ties`), what it does
to the vanilla bootstrap's regret on ten arms with CTRs up to 0.1.
"""
import numpy as np

import guideboot
from envs import BernoulliArms, Scored


def first_largest(scores, rng):
    """Index of the first of the largest scores; rng, the source of random ties, is not used."""
    raise NotImplementedError("see numpy.argmax; an int, please")


BY_INDEX_IS = None                # "better", "worse" or "the same"


def regret(argmax, runs=100, steps=400, m=10):
    """Mean regret of the bootstrap with this argmax.

    The mean is over runs that are the same for every argmax.
    """
    ours = guideboot.argmax
    total = 0.0
    guideboot.argmax = argmax
    try:
        for seed in range(runs):
            env = Scored(BernoulliArms(seed, m), steps)
            rng = np.random.default_rng(seed)
            agent = guideboot.Arms(m, guideboot.bootstrap_mean, rng)
            guideboot.online(agent, env, steps, c=1)
            total += env.regret.sum()
    finally:
        guideboot.argmax = ours
    return total / runs


if __name__ == "__main__":
    print(f"by index {regret(first_largest):.1f}, at random {regret(guideboot.argmax):.1f}")
