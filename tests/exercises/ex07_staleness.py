"""7. Staleness: what does a larger buffer cost? (Section 4.1)

Online GuideBoot serves c requests with the same models and then learns from them by n mini-batches.
Predict: is the regret with c = 512 higher than with c = 8, lower, or the same within 20 %? On the
synthetic task, with n = 4 mini-batches as in run_synthetic.py; then with as many steps of Adam for
every c; and then, with as many steps, on ten arms, where the gaps are large. Measure: `python
tests/exercises/ex07_staleness.py measure`. Explain: what costs more on the synthetic task, to act
on old models or to learn in few steps? Why are the arms another case?
"""
import helper

from envs import BernoulliArms, Scored, Synthetic, stream
from guideboot import GuideBoot, Harmonic, online
from nn import LogisticBag

STEPS = 2048


def as_many_steps(c):
    """The n for which 2,048 requests give 256 steps of Adam, for c = 8, 16, ..., 512."""
    raise NotImplementedError("there are 2048 / c learning phases of n steps each")


# With c = 512, beside c = 8: "higher", "lower" or "the same".
SYNTHETIC_WITH_4 = None
SYNTHETIC_AS_MANY = None
ARMS_AS_MANY = None


def regret(task, c, n, runs=8):
    total = 0.0
    for seed in range(runs):
        env = Scored(task(seed), STEPS)
        rngs = [stream(seed, "models", k) for k in range(5)]
        bag = LogisticBag(env.features, rngs, learning_rate=0.01)
        agent = GuideBoot(bag, stream(seed, "agent"), Harmonic(env.features))
        online(agent, env, STEPS, c, n)
        total += env.regret.sum()
    return total / runs


def arms(seed):
    return BernoulliArms(seed, m=10, low=0.0, high=1.0)


def measure():
    for task in (Synthetic, arms):
        for c in (8, 32, 128, 512):
            print(f"{task.__name__:9} c = {c:3}: {regret(task, c, 4):5.0f} with n = 4, "
                  f"{regret(task, c, as_many_steps(c)):5.0f} with n = {as_many_steps(c)}")


def check():
    for c in (8, 64, 512):
        steps = STEPS // c * as_many_steps(c)
        assert steps == 256, f"with c = {c} it gives {steps} steps of Adam, not 256"
    tries = (("SYNTHETIC_WITH_4", SYNTHETIC_WITH_4, Synthetic, lambda c: 4,
              "how many steps of Adam are left?"),
             ("SYNTHETIC_AS_MANY", SYNTHETIC_AS_MANY, Synthetic, as_many_steps,
              "the actions differ by little, so some hundred requests teach little"),
             ("ARMS_AS_MANY", ARMS_AS_MANY, arms, as_many_steps,
              "with c = 512 who serves the first quarter of the requests?"))
    for name, guess, task, n, hint in tries:
        change = regret(task, 512, n(512)) / regret(task, 8, n(8)) - 1
        helper.expect_sign(name, guess, change if abs(change) > 0.2 else 0,
                           ("the same", "higher", "lower"), hint)


if __name__ == "__main__":
    helper.main(check, measure)
