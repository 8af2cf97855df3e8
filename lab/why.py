"""What does GuideBoot do? The method taken apart, on the synthetic task of Section 5.1.

  python -m lab.study tune why      every cell alike, on seeds that are not reported
  python -m lab.why                 the tuned cells; also: paper, half, high, long, noise (TASKS)

The statement behind it. Given the history (x_i, r_i), i = 1, ..., t, and the parameters, a row of
Algorithm 1's batch is any i with probability 1/t, and its fakes have the means E w = 1 + 2 g_i and
E y = r_i + g_i. The gradient w sigmoid(z) - y is linear in w and y, so the expected one is that of

    J = 1/t sum_i (1 + 2 g_i) softplus(z_i) - (r_i + g_i) z_i,

one objective, the same for all K models: what moves the models apart, but for their first weights,
is the noise of their gradients. (Adam divides by the size of that noise, so its expected step is
not J's alone.) So fakes do two things, which the cells below separate. Their mean *pulls*: every
sample's term of J is lowest nearer to 1/2. And their draw is *noise*: F1 - g and F0 - g have the
mean 0, whatever the model. Where g = 1 both fakes are certain, and there is no noise of theirs.

Without context it is a theorem (`lift`): the pull raises an estimate exactly if it is below 1/2.
"""
import argparse
import math
from functools import partial

import numpy as np

from lab import charts, runs, tables
from lab.command import call, number

import run_synthetic
from baselines import LogisticPosterior, RidgeBag
from envs import Synthetic, stream
from guideboot import (Agent, FastHarmonic, History, argmax, beta_moments, binomial, fake_samples,
                       guidance, online)
from nn import check, not_negative, positive, sigmoid, sum_last

BASE_RATE = 0.27           # the synthetic task's average reward, of all candidates
INPUTS = np.array([(a, 25 + i, 30 + j) for a in range(25) for i in range(5) for j in range(5)])


# ---------------------------------------------------------------- the multi-armed case

def lift(s, n, alpha):
    """E[guided mean] - s/n, and the same in standard deviations of Beta(alpha + s, alpha + n - s).

    Let F = F1 + F0 ~ Bi(2n, g) with g = min(alpha / n, 1). Given F, half of the fakes are clicks on
    average, and S has mean s whatever F, so the guided mean (S + F1) / (n + F) has the mean
    (s + F/2) / (n + F), which is s/n + (1/2 - s/n) F / (n + F). Hence

        E[guided mean] - s/n = (1/2 - s/n) E[F / (n + F)]:

    an estimate is raised exactly if it is below 1/2. For large n and a fixed s the lift is about
    alpha / n, and Beta's standard deviation sqrt(s + alpha) / n, so their ratio tends to
    alpha / sqrt(s + alpha), which is sqrt(alpha) without clicks: in the limit above 1 only while
    s < alpha (alpha - 1), and for no s if alpha <= 1. (Few impressions can have more: with n = 1,
    s = 0 and alpha = 0.9 it is 1.3.) Beta's own mean, (s + alpha) / (n + 2 alpha), is raised by
    (1/2 - s/n) 2 alpha / (n + 2 alpha), nearly as much for many impressions (for small alpha
    n / (n + 1) as much; where g is capped, 2/3 or more): that is what a prior at 1/2 does, not
    optimism beyond Thompson sampling's.
    """
    F = np.arange(2 * n + 1)
    share = binomial(2 * n, guidance(n, alpha)) @ (F / (n + F))
    raised = (0.5 - s / n) * share
    return raised, raised / math.sqrt(beta_moments(s, n, alpha)[1])


# ---------------------------------------------------------------- the cells

class Samples:
    """What the K models learn from at a step: real rows, by `data`, and what `fakes` add to them.

        data     afresh   b rows resampled at every step (Algorithm 1)
                 kept     likewise, each weighted by a Poisson(1) number drawn once for each model
                 full     all that was seen: every input once, weighted by how often it was seen
        fakes    drawn    Algorithm 1's; pull: their mean alone; noise: draw minus mean; none
        centre   pull: the share of clicks among the fakes; None: the average reward so far
        guided   False: as many fakes, the same probability for all rows
    """

    def __init__(self, K, steps, rng, alpha, fakes, centre, guided, data, batch):
        kinds = ("drawn", "pull", "noise", "none")
        check("fakes", fakes, fakes in kinds, ", ".join(kinds))
        check("data", data, data in ("afresh", "kept", "full"), "afresh, kept or full")
        self.K, self.rng, self.alpha, self.fakes = K, rng, positive("alpha", alpha), fakes
        self.centre, self.guided, self.data, self.batch = centre, guided, data, batch
        self.history, self.density = History(3, 35), FastHarmonic(35)
        self.kept = rng.poisson(1.0, (K, steps)) if data == "kept" else None
        self.n, self.s = np.zeros((25, 5, 5)), np.zeros((25, 5, 5))

    def add(self, x, r):
        self.history.append(x, r)
        self.density.update(x)
        self.n[x[0], x[1] - 25, x[2] - 30] += 1
        self.s[x[0], x[1] - 25, x[2] - 30] += r

    def rows(self):
        """Inputs (K, B, 3), their weights and (average) rewards (K, B)."""
        if self.data == "afresh":
            X, r = self.history.resample((self.K, self.batch), self.rng)
            return X, np.ones(r.shape), r
        if self.data == "kept":
            drawn = (self.history.size * self.rng.random((self.K, self.batch))).astype(int)
            X = self.history.X.take(drawn, axis=0).astype(int)
            return X, np.take_along_axis(self.kept, drawn, 1), self.history.r.take(drawn)
        n, s = self.n.ravel(), self.s.ravel()
        seen = n > 0
        weights = n[seen] * (seen.sum() / n.sum())               # of mean 1
        shape = (self.K, seen.sum())
        return (np.broadcast_to(INPUTS[seen], (*shape, 3)), np.broadcast_to(weights, shape),
                np.broadcast_to(s[seen] / n[seen], shape))

    def __call__(self):
        """X, w, y for bag.update."""
        X, v, r = self.rows()
        if self.fakes == "none":
            return X, v, v * r
        g = guidance(self.density(X), self.alpha)
        if not self.guided:
            g = np.full(g.shape, (v * g).sum() / v.sum())
        if self.fakes == "pull":
            centre = self.s.sum() / self.n.sum() if self.centre is None else self.centre
            return X, v * (1.0 + 2.0 * g), v * (r + 2.0 * g * centre)
        w, y = fake_samples(r, g, self.rng)
        if self.fakes == "noise":
            w, y = w - 2.0 * g, y - g
        return X, v * w, v * y


def cell(env, steps, seed, fakes="drawn", centre=0.5, guided=True, data="afresh", models=5,
         alpha=1.0, precision=0.0, batch=run_synthetic.BATCH,
         learning_rate=run_synthetic.LEARNING_RATE):
    """Algorithm 1 with its parts chosen; as it stands, it is GuideBoot. precision is a ridge."""
    not_negative("precision", precision)
    bag = run_synthetic.bag_of(env, seed, models, learning_rate, RidgeBag)
    agent = Agent(bag, stream(seed, "agent"))
    samples = Samples(models, steps, agent.rng, alpha, fakes, centre, guided, data, batch)
    for t in range(1, steps + 1):
        X = env.observe()
        a = agent.choose(X, t)
        samples.add(X[a], env.pull(a))
        bag.ridge = precision / t
        bag.update(*samples())
        bag.publish()
    z = sum_last(bag.theta[:, INPUTS]) + bag.theta[:, -1:]       # (K, 625)
    return measures(env, z, samples.history)


class ExactPull(LogisticPosterior):
    """Greedy on the exact minimum of t J plus a ridge (on the bias, too), no gradient descent."""

    def __init__(self, fields, features, rng, precision, alpha):
        super().__init__(fields, features, rng, precision)
        self.alpha, self.density, self.history = alpha, FastHarmonic(features), History(3, features)

    def choose(self, X, t):
        return argmax(sum_last(self.mode.take(self.active(X))), self.rng)

    def learn_from(self, X, r, n=1):
        self.density.update(X)
        self.history.append(X[0], r[0])
        super().learn_from(X, r, n)

    def newton(self):
        n, s = self.n, self.s
        g = guidance(self.density(self.ids[:, :-1]), self.alpha)
        self.n, self.s = n * (1.0 + 2.0 * g), s + n * g
        super().newton()
        self.n, self.s = n, s


def exact_pull(env, steps, seed, alpha=1.0, precision=1.0):
    agent = ExactPull(env.fields, env.features, stream(seed, "agent"), precision, alpha)
    online(agent, env, steps, 1)
    z = sum_last(agent.mode.take(agent.active(INPUTS)))[None]
    return measures(env, z, agent.history)


# ---------------------------------------------------------------- what is measured at the end

def measures(env, z, history):
    """Of the logits z (K, 625) that the models give all inputs, beside the posterior and the truth.

    The posterior's covariance is Laplace's at the truth: the inverse of the Fisher information of
    all that was shown plus the precision 48 of the weights' prior, U(-0.25, 0.25), the bias's 0.

        spread         standard deviation of a logit over the K models (root mean square)
        of_posterior   the same over the posterior's: 1 for K draws of the posterior
        disagree       how often two of the models choose differently, by 500 requests
        optimism       slope of (mean model - truth) on the posterior's standard deviation, over
                       inputs: c if the mean model is truth + c std
        rare           mean of (mean model - truth) for the five actions shown least
    """
    X = history.X[:history.size].astype(int)
    phi = np.zeros((len(INPUTS), 36))                            # an input's three ids, the bias
    np.put_along_axis(phi, INPUTS, 1.0, 1)
    phi[:, 35] = 1.0
    truth = phi @ np.append(env._w, env._base)
    shown = np.bincount((X - INPUTS[0]) @ [25, 5, 1], minlength=len(INPUTS))
    p = sigmoid(truth)
    H = phi.T @ (phi * (shown * p * (1.0 - p))[:, None])
    H[range(35), range(35)] += 48.0
    variance = (phi * np.linalg.solve(H, phi.T).T).sum(axis=1)
    error = z.mean(axis=0) - truth
    least = np.argsort(np.bincount(X[:, 0], minlength=25), kind="stable")[:5]
    numbers = {"optimism": np.polyfit(np.sqrt(variance), error, 1)[0],
               "rare": error[np.isin(INPUTS[:, 0], least)].mean()}
    if len(z) > 1:
        numbers["spread"] = math.sqrt(z.var(axis=0, ddof=1).mean())
        numbers["of_posterior"] = numbers["spread"] / math.sqrt(variance.mean())
        numbers["disagree"] = disagreement(env, z)
    return numbers


def disagreement(env, z):
    """The share of pairs of models that choose differently, over 500 requests."""
    K, different = len(z), 0
    for _ in range(500):
        x = env.observe() - np.array([0, 25, 30])
        chosen = z[:, 25 * x[:, 0] + 5 * x[:, 1] + x[:, 2]].argmax(axis=1)       # (K,)
        different += (chosen[:, None] != chosen).sum() / (K * (K - 1))
    return different / 500


# ---------------------------------------------------------------- cells, grids, tasks

CELLS = {
    "GuideBoot": partial(cell),
    "pull alone": partial(cell, fakes="pull"),
    "noise alone": partial(cell, fakes="noise"),
    "no fakes": partial(cell, fakes="none"),
    "pull to the base rate": partial(cell, fakes="pull", centre=BASE_RATE),
    "pull to the average": partial(cell, fakes="pull", centre=None),
    "pull to 1": partial(cell, fakes="pull", centre=1.0),
    "unguided fakes": partial(cell, guided=False),
    "unguided pull": partial(cell, fakes="pull", guided=False),
    "ridge": partial(cell, fakes="none"),
    "ridge and fakes": partial(cell),
    "one model: fakes": partial(cell, models=1),
    "one model: pull": partial(cell, models=1, fakes="pull"),
    "one model: no fakes": partial(cell, models=1, fakes="none"),
    "one model: ridge": partial(cell, models=1, fakes="none"),
    "full data: pull": partial(cell, models=1, fakes="pull", data="full"),
    "full data: no fakes": partial(cell, models=1, fakes="none", data="full"),
    "full data: ridge": partial(cell, models=1, fakes="none", data="full"),
    "kept resample: pull": partial(cell, fakes="pull", data="kept"),
    "kept resample: no fakes": partial(cell, fakes="none", data="kept"),
    "exact fit: pull": partial(exact_pull),
    "exact fit: ridge": partial(exact_pull),
}
FEW = ("GuideBoot", "pull alone", "no fakes", "pull to the average", "ridge")
LOW_RATES, RATES = (0.0001, 0.0003, 0.001, 0.003), (0.0003, 0.001, 0.003, 0.01)
HIGH_RATES = (0.001, 0.003, 0.01, 0.03)
MANY_RATES = (0.0001, 0.00015, 0.0002,
              *np.geomspace(0.0003, 0.03, 15).round(5).tolist(), 0.045, 0.06)
ALPHAS = (0.3, 1.0, 3.0, 10.0, 30.0)
PRECISIONS = (3.0, 10.0, 30.0, 100.0, 300.0)
OTHER_ALPHAS = {"unguided fakes": (0.1, 0.3, 1.0, 3.0, 10.0),
                "unguided pull": (0.1, 0.3, 1.0, 3.0, 10.0),
                "pull to the average": (1.0, 3.0, 10.0, 30.0, 100.0)}


def grid(name):
    """Twenty configurations of a cell: of its learning rate and of what regularises it.

    Fakes and ridge together have the rate that is best with a ridge alone.
    """
    if name == "exact fit: pull":
        return dict(precision=(1.0, 10.0, 30.0, 100.0), alpha=ALPHAS)
    if name == "exact fit: ridge":                           # with next to no fakes
        return dict(precision=tuple(np.geomspace(3, 300, 20).round(1).tolist()), alpha=(1e-9,))
    if name == "ridge and fakes":
        return dict(learning_rate=(0.003,), precision=(3.0, 10.0, 30.0, 100.0), alpha=ALPHAS)
    if name.endswith("no fakes"):
        return dict(learning_rate=MANY_RATES)
    if name.endswith("ridge"):
        return dict(learning_rate=HIGH_RATES, precision=PRECISIONS)
    rates = LOW_RATES if name == "GuideBoot" else RATES
    if name.startswith(("one model", "full data")):
        rates = HIGH_RATES
    return dict(learning_rate=rates, alpha=OTHER_ALPHAS.get(name, ALPHAS))


# How far the models of a bag are apart, without fakes, by what might move them: not tuned.
NOISE = {f"{rate=}, {b=}, {K=}": partial(cell, fakes="none", learning_rate=rate, batch=b, models=K)
         for rate, b, K in ((0.001, 256, 5), (0.003, 256, 5), (0.01, 256, 5), (0.003, 16, 5),
                            (0.003, 64, 5), (0.003, 1024, 5), (0.003, 256, 2), (0.003, 256, 20))}

TASKS = {                                   # cells, task, steps, runs
    "why": (CELLS, Synthetic, 10_000, 200),
    "paper": ({name: CELLS[name] for name in ("GuideBoot", "no fakes", "unguided fakes")},
              Synthetic, 10_000, 200),      # the paper's alpha of 1; learning rate and b are ours
    "half": ({name: CELLS[name] for name in FEW}, partial(Synthetic, base=0.0), 10_000, 200),
    "high": ({name: CELLS[name] for name in FEW}, partial(Synthetic, base=1.0), 10_000, 200),
    "long": ({name: CELLS[name] for name in FEW}, Synthetic, 100_000, 20),
    "noise": (NOISE, Synthetic, 10_000, 20),
    "noise_long": ({row: NOISE[row] for row in [*NOISE][:3]}, Synthetic, 40_000, 20),
}
TUNED = ("why", "half", "high")             # "long" has the values of "why", the others their own
SEED = 2000                                 # of the first reported run


# ---------------------------------------------------------------- the table and the figures

def show(results):
    """One line a cell: regret, minus GuideBoot's on the same seeds, and what was measured."""
    regret = {row: tables.finite(by_seed) for row, by_seed in results.values().items()}
    first, forms = "GuideBoot", {"spread": ".3f", "of_posterior": ".2f", "disagree": ".2f"}
    measured = [name for name in ("spread", "of_posterior", "disagree", "optimism", "rare")
                if name in results.names()]
    lines = []
    for row in regret:
        cells = [row, tables.plus_minus(*tables.mean_and_error(list(regret[row].values())))]
        if first in regret:
            gap = tables.paired(regret[row], regret[first])
            cells.append("" if row == first else tables.plus_minus(*gap, "+.1f"))
        for name in measured:
            values = list(results.values(name)[row].values())
            cells.append(format(np.mean(values), forms.get(name, "+.2f")) if values else "")
        lines.append([*cells, tables.runs_text(results.values()[row])])
    minus = [f"minus {first}"] if first in regret else []
    note = ("; minus GuideBoot's on the\nsame seeds +- half-width of the 95 % interval" if minus
            else "")
    head = (f"Cumulative regret after {results.steps:,} steps: mean +- standard error{note}; "
            "measures: see lab/why.py.")
    table = tables.text_table(["Cell", "regret", *minus, *measured, "runs"], lines)
    return f"{head}\n\n{table}", drawn(results, regret) if minus else None


def drawn(results, regret):
    """Every run's regret as a dot, or of long runs the regret over time; at the task's own base."""
    if results.steps > 10_000:
        return runs.drawn(results)
    if "base=-1.0" not in results.one["task"]:
        return None
    panels = [("", {row: list(regret[row].values()) for row in regret if regret[row]})]
    title = f"GuideBoot taken apart, {results.steps:,} steps"
    return charts.box_chart(title, "cumulative regret", panels)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="lab.why", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda message: parser.exit(2, f"lab.why: {message}\n")
    parser.add_argument("task", nargs="?", default="why", choices=tuple(TASKS))
    parser.add_argument("--runs", type=number(int), metavar="N", help="(default: see TASKS)")
    parser.add_argument("--out", default="out", metavar="DIR", help="(default out)")
    args = parser.parse_args(argv)
    cells, task, steps, usual_runs = TASKS[args.task]
    tuned_on = args.task if args.task in TUNED else "why"
    name = "why" if args.task == "why" else f"why_{args.task}"
    number_of_runs = usual_runs if args.runs is None else args.runs
    methods = cells if args.task == "paper" else runs.tuned(cells, tuned_on)
    runs.compare(methods, task, steps, number_of_runs, SEED, args.out, name, show=show)


if __name__ == "__main__":
    call(main)
