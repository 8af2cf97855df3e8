# /// script
# requires-python = ">=3.10"
# dependencies = ["numpy>=1.24"]
# ///
"""The multi-armed case of the GuideBoot paper, Sections 3.2 and 3.4.

  python run_arms.py                  the example of Ad_A and Ad_B, worked exactly, at once
  python run_arms.py --figure         the three posteriors as impressions grow, drawn
  python run_arms.py --compare        ten arms, no context, half a minute: whose regret is
                                      lower? A bootstrap mostly does well and now and then gets
                                      stuck, so look at its standard error

With guideboot.py, nn.py, envs.py and baselines.py beside it, the example needs nothing else.
"""
import argparse
import math
import os
import sys
from functools import partial
from pathlib import Path

import numpy as np

import baselines
from envs import BernoulliArms, checked_buffer, stream
from guideboot import (argmax, beta_moments, bootstrap_distribution, guidance, guided_distribution,
                       moments, online)
from nn import check, positive, probability, whole

RUNS = 20                # ours
STEPS = 10_000           # ours
ALPHA = 1.0              # paper  the prior Beta(alpha, alpha), and the strength of the guidance
GIRO_ALPHA = 0.5         # paper  Giro's probability of a pseudo pair


# ---------------------------------------------------------------- Section 3.2: Ad_A and Ad_B

def example(alpha=1, n=50):
    """After n impressions each, Ad_A has one click and Ad_B none. How often is Ad_B shown?"""
    clicks = {"A": 1, "B": 0}
    boot = {ad: bootstrap_distribution(s, n) for ad, s in clicks.items()}
    guided = {ad: guided_distribution(s, n, alpha) for ad, s in clicks.items()}
    beta = {ad: beta_moments(s, n, alpha) for ad, s in clicks.items()}
    print(f"Ad_A: 1 click in {n} impressions, Ad_B: 0 clicks in {n}; "
          f"prior and fakes with alpha = {alpha}.\n"
          "Exact distribution of the estimated CTR (one # is 6 %, or the start of it):\n")
    histogram({"Bootstrap Ad_A": boot["A"], "Bootstrap Ad_B": boot["B"],
               "GuideBoot Ad_A": guided["A"], "GuideBoot Ad_B": guided["B"]})
    print("\n                    mean A   std A    mean B   std B    P(Ad_B is shown)")
    means_and_stds("Bootstrap (Eq. 3)", moments(*boot["A"]), moments(*boot["B"]),
                   chance_to_win(boot["B"], boot["A"]))
    means_and_stds("GuideBoot", moments(*guided["A"]), moments(*guided["B"]),
                   chance_to_win(guided["B"], guided["A"]))
    means_and_stds("Beta (Eq. 2)", beta["A"], beta["B"],
                   beta_chance_to_win(alpha, alpha + n, alpha + 1, alpha + n - 1))
    print("\nThe bootstrap's estimate for Ad_B is always 0: it wins only by a tie, "
          "when Ad_A's one click is not resampled.")


def chance_to_win(B, A):
    """P(B > A) + P(B = A) / 2 for two independent finite distributions, ties broken by a coin.

    Each is its values and their probabilities; A's values are in increasing order.
    """
    (values_B, p_B), (values_A, p_A) = B, A
    check("values of A", values_A, (np.diff(values_A) > 0).all(), "increasing")
    below = np.append(0.0, np.cumsum(p_A))                      # P(A < its i-th value), last 1
    less = below[np.searchsorted(values_A, values_B, "left")]   # P(A < b) for each value b of B
    up_to = below[np.searchsorted(values_A, values_B, "right")]             # P(A <= b)
    return float(p_B @ (less + up_to) / 2)


def beta_chance_to_win(aB, bB, aA, bA):
    """P(Beta(aB, bB) > Beta(aA, bA)) for a whole number aB: a finite sum of Beta functions."""
    def log_beta(a, b):
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)

    def term(i):
        return math.exp(log_beta(aA + i, bA + bB) - math.log(bB + i)
                        - log_beta(1 + i, bB) - log_beta(aA, bA))
    return sum(term(i) for i in range(whole("aB", aB)))


def histogram(distributions):
    """Print finite distributions side by side, in bins of 0.02."""
    edges = np.append(np.arange(6) * 0.02 - 1e-9, 1.0)
    columns = [np.histogram(values, edges, weights=p)[0] for values, p in distributions.values()]
    print(f"{'CTR':12}" + "".join(f"{name:25}" for name in distributions).rstrip())
    for i, row in enumerate(zip(*columns)):
        bars = [f"{p:7.1%} {'#' * math.ceil(p / 0.06 - 0.01):17}" for p in row]
        label = f"{i * 0.02:.2f}-{i * 0.02 + 0.02:.2f}" if i < 5 else "0.10 and up"
        print(f"{label:11}" + "".join(bars).rstrip())


def means_and_stds(name, A, B, chance):
    """Print a line of means and standard deviations; A and B are (mean, variance)."""
    numbers = (A[0], A[1] ** 0.5, B[0], B[1] ** 0.5, chance)
    print(f"{name:20}" + "   ".join(f"{number:.4f}" for number in numbers))


# ---------------------------------------------------------------- Section 3.4: three posteriors

def cdf(distribution, x):
    """P(value <= x) of a finite distribution, for a number or an array x."""
    values, p = distribution
    return np.append(0.0, np.cumsum(p))[np.searchsorted(values, x, "right")]


def beta_cdf(a, b, x):
    """P(Beta(a, b) <= x) for whole a, b: a or more of a + b - 1 trials of probability x succeed."""
    trials = a + b - 1
    fewer = sum(float(math.comb(trials, i)) * x ** i * (1.0 - x) ** (trials - i) for i in range(a))
    return 1.0 - fewer


def figure(alpha=1):
    """What Section 3.4 states: distribution functions of the estimated CTR as impressions grow.

    Prints how close mean and standard deviation are to Beta's, and returns the figure as SVG text.
    """
    from lab import charts
    print(f"{'':22}mean / Beta's          std / Beta's           P(estimate is 0)\n"
          f"{'':18}" + "    Bootstrap GuideBoot" * 3)
    panels = []
    for ad, clicks in (("Ad_A", 1), ("Ad_B", 0)):
        mean, variance = beta_moments(clicks, 50, alpha)           # the widest of a row of panels
        end = math.ceil(20.0 * (mean + 3.0 * variance ** 0.5)) / 20.0
        x = np.linspace(0.0, end, 301)
        for n in (50, 200, 800):
            s = clicks * n // 50
            boot = bootstrap_distribution(s, n)
            guided = guided_distribution(s, n, alpha)
            mean, variance = beta_moments(s, n, alpha)
            panels.append((f"{ad}: {s} of {n} clicked",
                           [("Beta (Eq. 2)", x, beta_cdf(alpha + s, alpha + n - s, x)),
                            ("Bootstrap (Eq. 3)", x, cdf(boot, x)),
                            ("GuideBoot", x, cdf(guided, x))]))
            (mean_b, var_b), (mean_g, var_g) = moments(*boot), moments(*guided)
            print(f"{ad}, {s:2} of {n:3}       "
                  f"{mean_b / mean:9.3f} {mean_g / mean:9.3f}    "
                  f"{(var_b / variance) ** 0.5:9.3f} {(var_g / variance) ** 0.5:9.3f}    "
                  f"{cdf(boot, 0.0):9.3f} {cdf(guided, 0.0):9.3f}")
    return charts.panel_chart("How likely is an estimated CTR of at most x?", "x: estimated CTR",
                              panels, columns=3)


# ---------------------------------------------------------------- agents for arms without context

class Arms:
    """An agent for m Bernoulli arms: it draws a mean for each arm and pulls the highest.

    `draw(s, n, rng)` returns the means of arms with s clicks in n pulls; arms never pulled come
    first.
    """

    def __init__(self, m, draw, rng):
        self.s = np.zeros(m, int)                                   # clicks
        self.n = np.zeros(m, int)                                   # pulls
        self.draw, self.rng = draw, rng

    def choose(self, X, t):
        arms = X[:, 0]
        if self.n[arms].min() == 0:
            return argmax((self.n[arms] == 0).astype(float), self.rng)
        return argmax(self.draw(self.s[arms], self.n[arms], self.rng), self.rng)

    def learn_from(self, X, r, n=1):
        X, r = checked_buffer(X, r, len(self.n))
        np.add.at(self.n, X[:, 0], 1)
        np.add.at(self.s, X[:, 0], r)


def thompson_mean(s, n, rng, alpha=1.0):
    """A draw from the posterior Beta(alpha + s, alpha + n - s) of every arm (Eq. 2)."""
    return rng.beta(alpha + s, alpha + (n - s))


def bootstrap_mean(s, n, rng):
    """The mean of n rewards resampled from n with s clicks, for every arm (Eq. 3)."""
    return rng.binomial(n, s / n) / n


def guided_mean(s, n, rng, alpha=1.0):
    """One draw of every arm's guided-bootstrap mean, distributed as `guided_distribution`."""
    g = guidance(n, alpha)
    S = rng.binomial(n, s / n)
    F1 = rng.binomial(n, g)
    F0 = rng.binomial(n, g)
    return (S + F1) / (n + F1 + F0)


class GiroArms(Arms):
    """Giro on Bernoulli arms: the bootstrap mean of a history that pseudo pairs have joined."""

    def __init__(self, m, rng, alpha=0.5):
        super().__init__(m, bootstrap_mean, rng)
        self.alpha = probability("alpha of Giro", alpha)

    def learn_from(self, X, r, n=1):
        super().learn_from(X, r, n)
        arms = np.asarray(X)[:, 0]
        pairs = self.rng.binomial(1, self.alpha, len(r))
        np.add.at(self.n, arms, 2 * pairs)
        np.add.at(self.s, arms, pairs)


# ---------------------------------------------------------------- the comparison, without context

def guideboot(env, steps, seed, alpha=ALPHA):
    draw = partial(guided_mean, alpha=positive("alpha", alpha))
    agent = Arms(env.features, draw, stream(seed, "agent"))
    online(agent, env, steps, 1)


def thompson(env, steps, seed, alpha=ALPHA):
    draw = partial(thompson_mean, alpha=positive("alpha", alpha))
    agent = Arms(env.features, draw, stream(seed, "agent"))
    online(agent, env, steps, 1)


def bootstrap(env, steps, seed):
    agent = Arms(env.features, bootstrap_mean, stream(seed, "agent"))
    online(agent, env, steps, 1)


def giro(env, steps, seed, giro_alpha=GIRO_ALPHA):
    online(GiroArms(env.features, stream(seed, "agent"), giro_alpha), env, steps, 1)


def random(env, steps, seed):
    online(baselines.RandomPolicy(stream(seed, "agent")), env, steps, 1)


METHODS = {"GuideBoot": guideboot, "Thompson (Beta)": thompson, "Bootstrap": bootstrap,
           "Giro": giro, "Random": random}
OPTIONS = {"alpha": "strength of GuideBoot's guidance, and Thompson sampling's prior",
           "giro_alpha": "Giro's probability of a pseudo pair"}


def comparison(argv):
    """Ten arms with CTRs uniform in 0 to 0.1, the same in run i for every method."""
    from lab.command import Command
    command = Command(__doc__, METHODS, OPTIONS, None, RUNS)
    command.add_argument("--compare", action="store_true", help=argparse.SUPPRESS)
    command.add("steps", int, STEPS, "pulls of a run")
    args = command.parse_args(argv)
    command.run(args, command.wanted(args), BernoulliArms, args.steps, "arms")


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    if "--compare" in argv:
        return comparison(argv)
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda message: parser.exit(2, f"{parser.prog}: {message}\n")
    parser.add_argument("--compare", action="store_true",
                        help="the comparison; its options: --compare --help")
    parser.add_argument("--figure", nargs="?", const="out/posteriors.svg", metavar="FILE",
                        help="draw the three posteriors (default %(const)s)")
    path = parser.parse_args(argv).figure
    if path is None:
        return example()
    path = Path(os.path.expanduser(path))
    if path.suffix != ".svg" or path.is_dir():
        parser.error(f"argument --figure: must be a file named .svg, got {str(path)!r}")
    if path.parts[0].startswith("~"):
        parser.error(f"argument --figure: no such folder, {path.parts[0]}")
    path.parent.mkdir(parents=True, exist_ok=True)             # at once, if it cannot be
    path.write_text(figure(), encoding="utf-8")
    print(f"\nThe figure is {path}")


if __name__ == "__main__":
    try:
        if sys.stdout is not None:                             # closed: `>&-`
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            main()
        finally:                                               # --help exits, too
            print(end="", flush=True)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:                                    # the reader has enough: `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        sys.exit(f"{error.filename or 'output'}: {error.strerror}")
