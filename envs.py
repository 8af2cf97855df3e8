"""The tasks: Bernoulli arms, the synthetic task of Section 5.1, tables, stand-ins for the ads.

An environment is any object with two numbers and two methods:

    env.fields      J, how many ids make up an input
    env.features    ids run from 0 to features - 1; each field has a range of its own
    env.observe()   the candidates of the next request, an integer array (m, J), m >= 1
    env.pull(a)     show candidate a of that request; returns the reward, 0 or 1

and that is all an agent ever meets: the loops of guideboot.py hand it candidates and rewards,
checked by `checked`. To be scored by its regret the environment also has `_expected()`, the
expected rewards (m,) of the current candidates, for `Scored` and for yardsticks; no agent asks for
it. (The ads, with hundreds of candidates, also answer `_expected(a)`, for one.) `BernoulliArms` is
a short example.

Randomness comes from named streams of one seed, so every method that runs with a seed faces the
same weights, the same contexts and the same reward uniforms, whatever it does itself: differences
between methods are paired.
"""
import csv
import io
import warnings
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist

import numpy as np

from nn import check, sigmoid, whole, within

INTP = np.dtype(np.intp)                                 # NumPy's type of an index
STREAMS = ("weights", "contexts", "rewards", "agent", "models", "dropout")


def stream(seed, name, k=0):
    """A random generator for one purpose: a function of the seed, the purpose and the model k.

    (np.random.default_rng(seed) draws what the stream of the weights does: give an agent
    stream(seed, "agent").)
    """
    seed = whole("seed", seed, 0)
    check("name", name, name in STREAMS, " or ".join(STREAMS))
    return np.random.default_rng([seed, STREAMS.index(name), k])


# ---------------------------------------------------------------- the protocol: checked and scored

def checked(env):
    """The environment, with every exchange between it and an agent checked."""
    return env if isinstance(env, (Checked, Scored)) else Checked(env)


class Checked:
    """An environment whose candidates, choices and rewards are checked as they pass."""

    def __init__(self, env):
        self.env, self.fields, self.features = env, env.fields, env.features
        self.offered = 0                                 # candidates that wait for a choice
        self.field_of = np.full(env.features, -1)        # the field in which an id was seen
        self.looks = 100                                 # at so many first requests

    def __getattr__(self, name):
        """All else that the environment has."""
        if name == "env" or name.startswith("__"):       # while being copied
            raise AttributeError(name)
        return getattr(self.env, name)

    def observe(self):
        """The candidates of the next request: rows of J ids within range, at least one."""
        X = self.env.observe()
        if isinstance(X, Request):                       # valid by construction
            self.offered = len(X)
            return X
        X = np.asarray(X)
        if X.dtype.kind not in "iu" or X.shape[1:] != (self.fields,) or len(X) == 0:
            raise ValueError(f"candidates must be whole numbers of shape (m, {self.fields}), m at "
                             f"least 1, got {X.dtype} of shape {X.shape}")
        if X.dtype is not INTP:
            X = X.astype(np.intp)
        if not ids_within(X, self.features):
            bad = X[(X < 0) | (X >= self.features)][0]
            raise ValueError(f"ids must be 0 to {self.features - 1} (env.features - 1), got {bad}")
        if self.looks > 0:
            self.looks -= 1
            check_fields(X, self.field_of)
        self.offered = len(X)
        return X

    def pull(self, a):
        """The reward of candidate a, 0 or 1."""
        check_choice(a, self.offered)
        self.offered = 0
        r = self.env.pull(a)
        if type(r) is int and 0 <= r <= 1:               # the usual case
            return r
        return int(check("rewards", r, np.ndim(r) == 0 and r in (0, 1), "0 or 1"))


def ids_within(X, features):
    """Are all ids 0 to features - 1? One look for both ends: as unsigned, a negative id is huge.

    (`argmax` finds the largest in a third of the time that `max` takes on few numbers.)
    """
    unsigned = X.view(np.uintp)
    return unsigned.item(unsigned.argmax()) < features


def check_choice(a, m):
    """Refuse a choice that is not an index, 0 to m - 1; m is 0 if one was made already."""
    if m == 0:
        raise ValueError("pull must follow observe, and only once")
    whole_number = type(a) is int or isinstance(a, np.integer)
    if not whole_number or not 0 <= a < m:
        raise ValueError(f"the chosen index must be whole, 0 to {m - 1}, got {a!r}")


def check_fields(X, field_of):
    """Refuse candidates X (m, J) with an id of two fields, which a density would count as one."""
    for j, ids in enumerate(X.T):
        mixed = ids[(field_of[ids] >= 0) & (field_of[ids] != j)]
        if len(mixed) > 0:
            raise ValueError(f"ids must be of one field each, got {mixed[0]} in several: add an "
                             "offset to the ids of every field")
        field_of[ids] = j


def checked_buffer(X, r, features):
    """Rows X (c, J) and rewards r (c,) as arrays, for buffers that need not be of our loops."""
    X, r = np.asarray(X), np.asarray(r)
    fine = X.ndim == 2 and X.dtype.kind in "iu" and len(X) > 0
    allowed = f"rows must be whole numbers (c, J), c at least 1, 0 to {features - 1}"
    if not fine:
        raise ValueError(f"{allowed}, got {X.dtype} of shape {X.shape}")
    X = X.astype(np.intp, copy=False)
    if not ids_within(X, features):
        i, j = np.argwhere((X < 0) | (X >= features))[0]
        raise ValueError(f"{allowed}, got {X[i, j]} in row {i}")
    if r.shape != (len(X),):
        raise ValueError(f"rewards must be one for each of {len(X)} rows, got shape {r.shape}")
    for i, reward in enumerate(r.tolist()):
        if reward not in (0, 1):
            raise ValueError(f"rewards must be 0 or 1, got {reward!r} in row {i}")
    return X, r


def check_fit(agent, env, loop):
    """Refuse an agent that would learn nothing sensible in this loop, or from this environment."""
    fits = loop in getattr(agent, "loops", ("replay", "online"))
    fits = fits and (loop == "online" or hasattr(agent, "bag"))
    check("agent", type(agent).__name__, fits, f"a method for {loop}")
    if not hasattr(agent, "bag"):
        return
    features = agent.bag.features
    check("bag.features", features, features == env.features, f"env.features, {env.features}")
    if hasattr(agent.bag, "ads") and hasattr(env, "table"):
        if not np.array_equal(agent.bag.ads, env.table):
            raise ValueError("bag.ads must be env.table, got the ads of another environment")


def check_density(rho, shape):
    """Refuse a density rho that is not one number for each row, 0 or more (and not nan)."""
    rho = np.asarray(rho)
    if rho.shape != shape:
        raise ValueError(f"a density must have the rows' shape, {shape}, got {rho.shape}")
    least = rho.item(rho.argmin())                       # the first nan, if there is one
    if not least >= 0.0:
        raise ValueError(f"a density must be 0 or more, got {least}")


SCORES = ("regret", "expected", "reward")


class Scored:
    """An environment that keeps a record: what was received, and what is scored, at every step.

    Its attribute `score` says what is scored: "regret" (the default if it has expected rewards: the
    pseudo-regret, best expected reward minus that of the one shown), "expected" (the expected
    reward of the one shown alone, by `_expected(a)`, for tasks with many candidates), or "reward".
    """

    def __init__(self, env, steps, tick=lambda fraction: None):
        self.env, self.fields, self.features = checked(env), env.fields, env.features
        self.observe = self.env.observe
        self._expected = getattr(env, "_expected", None)
        self.score = getattr(env, "score", "regret" if hasattr(env, "_expected") else "reward")
        check("score", self.score, self.score in SCORES, " or ".join(SCORES))
        self.t = 0
        self.rewards = np.zeros(steps, np.int8)
        self.regret = np.zeros(steps if self.score == "regret" else 0)
        self.expected = np.zeros(steps if self.score == "expected" else 0, np.float32)
        self.tick, self.twentieth = tick, max(1, steps // 20)

    def __getattr__(self, name):
        """All else that the environment has: its table of ads, its scale."""
        if name == "env" or name.startswith("__"):       # while being copied
            raise AttributeError(name)
        return getattr(self.env, name)

    def pull(self, a):
        m = self.env.offered
        check_choice(a, m)
        if self.t == len(self.rewards):
            raise ValueError(f"a method must end after {self.t:,} steps")
        if self.score == "regret":                       # asked before pull, which may move on
            y = np.asarray(self._expected())             # (m,)
            if y.shape != (m,):
                raise ValueError(f"_expected() must have the shape ({m},), one for each candidate, "
                                 f"got {y.shape}")
            self.regret[self.t] = y[y.argmax()] - y[a]   # y.max() takes longer
        elif self.score == "expected":
            self.expected[self.t] = self._expected(a)
        self.rewards[self.t] = r = self.env.pull(a)
        self.t += 1
        if self.t % self.twentieth == 0:
            self.tick(self.t / len(self.rewards))        # for the progress line
        return r

    def numbers(self):
        """Of the steps so far, the score first: "regret" is a sum over them, all else per step."""
        steps = slice(max(self.t, 1))
        clicks = float(self.rewards[steps].mean())
        scored = (self.expected if self.score == "expected" else self.regret)[steps]
        bad = scored[~((0.0 <= scored) & (scored <= 1.0))]             # nan, too
        if len(bad) > 0:
            raise ValueError(f"_expected must be probabilities, got {bad[0]} ({self.score})")
        if self.score == "regret":
            return {"regret": float(np.cumsum(scored)[-1]), "reward": clicks}
        if self.score == "expected":
            return {"reward": float(scored.mean(dtype=float)), "clicks": clicks}
        return {"reward": clicks}


# ---------------------------------------------------------------- Sections 3.4 and 5.1

class BernoulliArms:
    """m arms without context (Section 3.4): the candidates are the arms, J = 1. y may be given."""
    fields = 1

    def __init__(self, seed, m=10, low=0.0, high=0.1, y=None):
        drawn = stream(seed, "weights").uniform(low, high, m)
        self._y = drawn if y is None else np.asarray(y, float)
        check("y", self._y, self._y.min() >= 0.0 and self._y.max() <= 1.0, "probabilities")
        self.features = len(self._y)
        self.rewards = stream(seed, "rewards")
        self.X = np.arange(self.features)[:, None]       # (m, 1)

    def observe(self):
        self._u = self.rewards.random()                  # one a step, whichever arm is pulled
        return self.X

    def _expected(self):
        return self._y

    def pull(self, a):
        return int(self._u < self._y[a])


class Synthetic:
    """The Bernoulli bandit of Section 5.1: m = 25 actions with ids [a, x1, x2].

        y_a = sigmoid(w0[a] + w1[x1] + w2[x2] + base),   all weights ~ U(-0.25, 0.25)

    x1, x2 ~ U{1, 5} afresh for every action and step; base is -1 in the paper. One id space:
    actions 0-24, values of x1 25-29, values of x2 30-34. Steps are made in blocks, for speed.
    """
    fields, features, m, block = 3, 35, 25, 1024

    def __init__(self, seed, base=-1.0):
        self._w = stream(seed, "weights").uniform(-0.25, 0.25, self.features)      # w0, w1, w2
        self._base = base
        self.contexts, self.rewards = stream(seed, "contexts"), stream(seed, "rewards")
        self.i = self.block - 1

    def observe(self):
        self.i += 1
        if self.i == self.block:
            self._next_block()
        return self.X[self.i]                            # (m, J)

    def _next_block(self):
        self.i = 0
        n = self.block
        values = self.contexts.integers(0, 5, (n, self.m, 2)) + np.array([25, 30])
        actions = np.broadcast_to(np.arange(self.m)[:, None], (n, self.m, 1))
        self.X = np.concatenate([actions, values], axis=-1)                        # (n, m, J)
        self._y = sigmoid(self._w.take(self.X).sum(axis=-1) + self._base)          # (n, m)
        self._u = self.rewards.random(n)

    def _expected(self):
        return self._y[self.i]

    def pull(self, a):
        return int(self._u[self.i] < self._y[self.i, a])


# ---------------------------------------------------------------- any table with a label

MISSING = ("", "?", "na", "n/a", "nan", "null")     # in any case: a value not known


class Labelled:
    """A table with a label as a bandit: a candidate for each class, reward 1 for the right one.

    Candidate a of a row with the values v_1, ..., v_J has the id a and, for every column, the id of
    the pair (a, v_j): crossed ids, with which a linear model has a weight for each value and class.
    With crossed=False the ids are a, v_1, ..., v_J; then the context is the same for all candidates
    and cancels in the argmax of a logistic model, which learns next to nothing. With `noise` a
    reward is flipped with that probability. The seed draws the order of the rows; there are as many
    steps as rows.
    """

    def __init__(self, seed, table, label, crossed=True, noise=0.0, bins=8):
        check("table", table, isinstance(table, Path), "a pathlib.Path, known by its content")
        check("crossed", crossed, crossed in (True, False), "True or False")
        check("noise", noise, within(noise, 0.0, 0.5), "0 to 1/2")
        values, sizes, labels, classes = read_table(table, label, whole("bins", bins))
        order = stream(seed, "contexts").permutation(len(values))
        self.values, self._labels = values[order], labels[order]
        self._flipped = stream(seed, "rewards").random(len(order)) < noise
        self._noise = noise
        self.classes = classes
        self.steps = len(values)
        m = len(classes)
        a = np.arange(m)[:, None]                        # (m, 1)
        starts = np.cumsum([0, *sizes[:-1]])             # where a column's values begin, (J,)
        pairs = m * starts + a * sizes if crossed else np.broadcast_to(starts, (m, len(sizes)))
        self.first = np.hstack([a, m + pairs])           # the ids of values 0, (m, 1 + J)
        self.fields = 1 + len(sizes)
        self.features = m + int(sum(sizes)) * (m if crossed else 1)
        self.i = -1

    def observe(self):
        self.i += 1
        check("steps", self.i + 1, self.i < self.steps, f"at most {self.steps}, the table's rows")
        X = self.first.copy()
        X[:, 1:] += self.values[self.i]
        return X                                         # (m, 1 + J)

    def _expected(self):
        y = np.full(len(self.classes), self._noise)
        y[self._labels[self.i]] = 1.0 - self._noise
        return y

    def pull(self, a):
        return int((a == self._labels[self.i]) != self._flipped[self.i])


def read_table(path, label, bins=8):
    """A CSV file with a header as numbers: values (n, J), sizes (J,), labels (n,), class names.

    In a column with more than `bins` different numbers these are cut into quantiles, at
    most `bins`; all other cells have a number for each word, and one for missing values. Rows whose
    label is missing are left out.
    """
    try:
        file = path.stat()
        heads, *rows = table_cells(path, (file.st_mtime_ns, file.st_size))
    except OSError as error:
        raise ValueError(f"table must be a file that can be read, got {str(path)!r} "
                         f"({error.strerror})") from None
    check("label", label, label in heads, f"one of the columns {', '.join(heads)}")
    known = [row for row in rows if not missing(row[heads.index(label)])]
    if len(known) < len(rows):
        warnings.warn(f"{path}: no {label} in {len(rows) - len(known)} of {len(rows)} rows, which "
                      f"are left out (an empty cell or {', '.join(MISSING[1:])})")
    rows = known
    columns = dict(zip(heads, zip(*rows)))
    classes, labels = np.unique(columns.pop(label, []), return_inverse=True)
    check("label", label, len(classes) > 1, f"a column of {path} with two classes or more")
    few = len(classes) <= max(20, len(rows) // 10)
    check("label", label, few, f"a column of classes, not of {len(classes)} values in {len(rows)} "
          "rows")
    coded = [coded_column(cells, bins) for cells in columns.values()]
    values = np.column_stack([codes for codes, _ in coded])
    return values, np.array([size for _, size in coded]), labels, list(map(str, classes))


@lru_cache(maxsize=4)
def table_cells(path, changed):
    """The cells of a CSV file, without blanks around them; `changed` is its time and size."""
    rows = []                                            # (line, cells)
    try:
        text = io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")
        reader = csv.reader(text, strict=True)           # an open quote would swallow rows
        for row in reader:
            if row:
                rows.append((reader.line_num, [cell.strip() for cell in row]))
    except UnicodeDecodeError as error:
        *above, line = error.object[:error.start].split(b"\n")
        raise ValueError(f"{path}, line {len(above) + 1}, column {line.count(b',') + 1}: must be "
                         f"text in UTF-8, got the byte {error.object[error.start]:#x}") from None
    except csv.Error as error:
        last = rows[-1][0] if rows else 0
        raise ValueError(f"{path}, in the row after line {last}: {error}") from None
    check("table", str(path), len(rows) > 1, "a CSV file with a header and rows")
    heads = rows[0][1]
    odd = [name for name in heads if heads.count(name) > 1 or not name]
    if len(heads) < 2 or odd:
        raise ValueError(f"{path}: the first line must be a header, two names or more, all "
                         f"different and none empty, got {(odd or heads)[0]!r}")
    for line, row in rows:
        if row == heads and line > rows[0][0]:
            raise ValueError(f"{path}, line {line}: the header again")
        if len(row) != len(heads):
            last = heads[min(len(row), len(heads)) - 1]
            raise ValueError(f"{path}, line {line}: must have {len(heads)} cells, like the "
                             f"header, got {len(row)} (to column {last})")
    return [row for _, row in rows]


def missing(cell):
    return cell.casefold() in MISSING


def coded_column(cells, bins):
    """The numbers (n,) of a column's cells, from 0, and how many different ones there may be.

    A number belongs to the quantile of its mid-rank, the share of numbers below it and of half of
    those equal to it, so that a value which most rows have does not swallow its neighbours.
    """
    known = [cell for cell in cells if not missing(cell)]
    numbers = np.array([float(cell) for cell in known if is_number(cell)])
    distinct, count = np.unique(numbers, return_counts=True)
    kind = {cell: cell for cell in known}                # cells of one kind get one number
    if len(distinct) > bins:
        rank = (np.cumsum(count) - count / 2) / len(numbers)         # 0 to 1
        quantile = dict(zip(distinct.tolist(), (bins * rank).astype(int).tolist()))
        kind = {cell: quantile[float(cell)] if is_number(cell) else cell for cell in kind}
    number = {one: 1 + i for i, one in enumerate(sorted({*kind.values()}, key=str))}
    codes = np.array([0 if missing(cell) else number[kind[cell]] for cell in cells])
    return codes, 1 + len(number)


def is_number(cell):
    try:
        return np.isfinite(float(cell))
    except ValueError:
        return False


# ---------------------------------------------------------------- stand-ins for the ads: 5.2

# The paper's statistics of its two simulators, and `lift`, to which ours are calibrated (see Ads).
TABLE_2 = {
    "A": dict(steps=4_500_000, ads=8_900, candidates=(250, 450), context_features=4_200,
              ad_features=12_000, lift=1.93),
    "B": dict(steps=14_700_000, ads=6_500, candidates=(100, 200), context_features=4_300,
              ad_features=9_400, lift=1.5),
}
CONTEXT_FIELDS, AD_FIELDS = 13, 12
AD_ID = CONTEXT_FIELDS                 # a row is 13 context ids, the ad_ID and 11 ids of the ad
DAYS = 5.0
RANDOM_CTR = 0.01                      # what a random policy gets, at any scale


class Request:
    """One request: 13 context ids and m candidate ads by index. Reads like the ids (m, 25)."""

    def __init__(self, context, items, table):
        self.context, self.items, self.table = context, items, table

    def __len__(self):
        return len(self.items)

    def __array__(self, dtype=None, copy=None):
        context = np.broadcast_to(self.context, (len(self.items), len(self.context)))
        return np.concatenate([context, self.table[self.items]], axis=1)

    def __getitem__(self, key):
        if isinstance(key, int):                         # the row x of one candidate
            return np.concatenate([self.context, self.table[self.items[key]]])
        return np.asarray(self)[key]


class Ads:
    """A stand-in for the simulators Tencent Ads A and B, whose logs are not public.

    Its world is invented. At scale 1 it has Table 2's statistics; `scale` shrinks steps, ads,
    candidates and features together, so that impressions per ad stay the paper's; at least 5 to 9
    candidates are kept, for with three the best gets at most three times the average CTR, and there
    is little to learn. Over five days ads are launched and retired, the mix of contexts follows the
    hour, and tastes drift. The user model, hidden from agents, gives the logit of a click as

        base + context effect + slope * liking
        liking = 0.3^.5 (own appeal + features' appeal + sin(3 whim)) + 0.6^.5 tanh(taste)

    with taste = u.v and whim = u'.v' inner products of hidden context and ad vectors, which the
    agents' network can only approximate. The features' appeal and the contexts' vectors turn over
    the days. At any scale `base` is set so that a random policy gets a CTR of 0.01, and `slope` is
    `lift` divided by the expected maximum of m standard normals (Blom's formula), so that the best
    candidate is about `lift` logits above the average one. `lift` was chosen by epsilon-greedy's
    row in Table 3 alone, so that it lands near it. (task, world, scale) fix the world; `seed` draws
    requests and rewards, and the world too unless one is given. `known_ctr` is what an
    operator knows of clicks beforehand; 0.5 is nothing.
    """
    fields, score = CONTEXT_FIELDS + AD_FIELDS, "expected"
    block, segments, d = 512, 16, 4

    def __init__(self, seed, task="A", scale=1.0, world=None, drift=1.0, known_ctr=0.5):
        world = seed if world is None else world
        check("task", task, task in TABLE_2, " or ".join(TABLE_2))
        check("scale", scale, within(scale, 0.01, 1.0), "0.01 to 1")
        check("drift", drift, within(drift, 0.0, 10.0), "0 to 10")
        world = whole("world", world, 0)
        fine = within(known_ctr, 0.0, 1.0) and 0.0 < known_ctr < 1.0
        check("known_ctr", known_ctr, fine, "above 0 and below 1")
        self.scale, self.drift, self.known_ctr = scale, drift, known_ctr
        self._sizes(TABLE_2[task])
        rng = np.random.default_rng(["AB".index(task), world, round(1e6 * scale)])
        self._make_ads(rng)
        self._make_users(rng)
        self._calibrate(rng, TABLE_2[task]["lift"])
        self.contexts, self.rewards = stream(seed, "contexts"), stream(seed, "rewards")
        self.served = 0
        self.i = self.block - 1

    def _sizes(self, stats):
        """How many steps, candidates, and ids in each field."""
        self.steps = round(stats["steps"] * self.scale)
        low, high = stats["candidates"]
        self.low = max(5, round(low * self.scale))
        self.high = max(self.low + 4, round(high * self.scale))
        ads = round(stats["ads"] * self.scale)
        context_features = round(stats["context_features"] * self.scale)
        self.features = context_features + round(stats["ad_features"] * self.scale)
        hours = max(2, min(24, context_features // 20))
        other_contexts = field_sizes(context_features - hours, CONTEXT_FIELDS - 1)
        other_ads = field_sizes(self.features - context_features - ads, AD_FIELDS - 1)
        self.context_sizes = np.array([hours, *other_contexts])
        self.ad_sizes = np.array([ads, *other_ads])
        starts = np.cumsum([0, *self.context_sizes, *self.ad_sizes[:-1]])
        self.context_starts, self.ad_starts = starts[:CONTEXT_FIELDS], starts[CONTEXT_FIELDS:]

    # ------------------------------------------------ the world

    def _make_ads(self, rng):
        """Ads: Zipf-popular attributes, when they are on offer, and what is hidden of them."""
        n, d = self.ad_sizes[0], self.d
        others = [rng.choice(size, n, p=zipf(size)) for size in self.ad_sizes[1:]]
        values = np.column_stack([np.arange(n), *others])
        self.table = (values + self.ad_starts).astype(np.intp)                     # (n, 12)
        self.launch = rng.uniform(-2.0, DAYS - 0.25, n)
        self.retire = np.maximum(self.launch, 0.0) + 0.25 + rng.exponential(2.0, n)
        features = self.table[:, 1:] - self.ad_starts[1]                           # (n, 11)
        total = features.max() + 1
        now_and_later = rng.standard_normal((2, total))          # as the drift will make it
        self._feature_appeal = standard(now_and_later[:, features].sum(axis=2), axis=1)    # (2, n)
        self._own_appeal = rng.standard_normal(n)
        of_features = rng.standard_normal((total, 2 * d))[features].sum(axis=1)
        self._v = standard(of_features + 2.0 * rng.standard_normal((n, 2 * d)))    # (n, 2 d)

    def _make_users(self, rng):
        """Contexts: their effect on any click, their hidden vectors, which of them are popular."""
        total = self.context_sizes.sum()
        self._context_effect = rng.standard_normal(total)
        self._u = rng.standard_normal((total, 2 * self.d))
        self._phase = rng.random(CONTEXT_FIELDS)
        self._cumulative = [np.cumsum(zipf(size)) for size in self.context_sizes]

    def _calibrate(self, rng, lift):
        """Set base and slope by statistics of requests alone: 20 in each of the 120 hours."""
        m = (self.low + self.high) // 2
        effects, likings = [], []
        for day in (np.arange(120) + 0.5) / 24.0:
            _, effect, sides = self._draw_contexts(rng, day, 20)
            items = rng.choice(self._live(day).nonzero()[0], (20, m))
            effects.append(effect[:, None])
            likings.append(self._liking(self._appeal_at(day)[items], self._v[items] @ sides))
        effect = np.concatenate(effects)                                           # (2400, 1)
        liking = np.concatenate(likings)                                           # (2400, m)
        self._slope = lift / NormalDist().inv_cdf((m - 0.375) / (m + 0.25))
        self._base = 0.0
        for _ in range(50):
            ctr = sigmoid(self._base + effect + self._slope * liking).mean()
            self._base += np.log(RANDOM_CTR / ctr)

    # ------------------------------------------------ the user model

    def _live(self, day):
        return (self.launch <= day) & (day < self.retire)

    def _angle(self, day):
        """How far tastes have turned: an eighth of a circle in five days, a correlation of 0.7."""
        return self.drift * np.pi / 4 * day / DAYS

    def _appeal_at(self, day):
        """What every ad has of its own, whoever sees it, at this time, (n,)."""
        now, later = self._feature_appeal
        features = np.cos(self._angle(day)) * now + np.sin(self._angle(day)) * later
        return np.sqrt(0.3) * self._own_appeal + np.sqrt(0.3) * features

    def _draw_contexts(self, rng, day, n):
        """n contexts at this time: ids (n, 13), effects (n,), hidden sides (n, 2 d, 2).

        The popular values move with the hour. v @ sides is (taste, whim).
        """
        wave = 0.5 + 0.5 * np.sin(2 * np.pi * (day % 1.0 + self._phase))
        shift = (0.3 * wave * self.context_sizes).astype(int)
        rank = np.column_stack([np.searchsorted(cumulative, rng.random(n) * cumulative[-1])
                                for cumulative in self._cumulative])
        values = (rank + shift) % self.context_sizes
        values[:, 0] = int((day % 1.0) * self.context_sizes[0])                    # the hour
        ids = values + self.context_starts
        effect = self._context_effect[ids].sum(axis=1) * 0.5 / np.sqrt(CONTEXT_FIELDS)
        u = self._u[ids].sum(axis=1) / np.sqrt(CONTEXT_FIELDS * self.d)  # u.v has variance 1
        u = turned(u, self._angle(day))
        sides = np.zeros((n, 2 * self.d, 2))
        sides[:, :self.d, 0] = u[:, :self.d]
        sides[:, self.d:, 1] = u[:, self.d:]
        return ids, effect, sides

    def _liking(self, appeal, taste_and_whim):
        """What a context likes of an ad; its variance is about 1."""
        taste, whim = taste_and_whim[..., 0], taste_and_whim[..., 1]
        return appeal + np.sqrt(0.6) * np.tanh(taste) + np.sqrt(0.3) * np.sin(3.0 * whim)

    def _expected(self, a=slice(None)):
        """The expected rewards (m,) of the current candidates, or that of candidate a."""
        if a == self._asked:                             # by the scorer, just before pull
            return self._answer
        items = self.items[a]
        liking = self._liking(self._appeal[items], self._v[items] @ self._sides[self.i])
        self._asked = a
        self._answer = sigmoid(self._base + self._effect[self.i] + self._slope * liking)
        return self._answer

    # ------------------------------------------------ requests

    def observe(self):
        self.i += 1
        if self.i == self.block:
            self._next_block()
        first = self.offset[self.i]
        self.items = self.lists[self.segment[self.i]][first:first + self.m[self.i]]
        self._asked = None
        return Request(self.ids[self.i], self.items, self.table)

    def _next_block(self):
        """Requests are made in blocks: time stands still in one, and retrieval is by lists.

        As in a retrieval index, each segment of contexts has its list of live ads in random order,
        and the candidates of a request are a run of consecutive entries from a random place:
        distinct, and as cheap as a slice.
        """
        self.i = 0
        n = self.block
        self.day = DAYS * min(self.served + n / 2, self.steps) / self.steps
        self.served += n
        self.ids, self._effect, self._sides = self._draw_contexts(self.contexts, self.day, n)
        self._appeal = self._appeal_at(self.day)
        live = self._live(self.day).nonzero()[0]
        self.lists = []
        for _ in range(self.segments):
            order = self.contexts.permutation(live)
            self.lists.append(np.concatenate([order, order[:self.high]]))          # around the end
        self.segment = self.ids[:, 2] % self.segments
        self.m = self.contexts.integers(self.low, self.high + 1, n)
        self.offset = self.contexts.integers(0, len(live), n)
        self._uniform = self.rewards.random(n)

    def pull(self, a):
        return int(self._uniform[self.i] < self._expected(a))


def field_sizes(total, fields, smallest=2):
    """Sizes of `fields` fields, each about 0.7 of the one before it, that add up to `total`."""
    weight = 0.7 ** np.arange(fields)
    sizes = smallest + np.floor((total - smallest * fields) * weight / weight.sum()).astype(int)
    sizes[0] += total - sizes.sum()
    return sizes


def zipf(size):
    """Popularity of `size` values: that of the k-th most popular is proportional to 1 / k."""
    p = 1.0 / np.arange(1, size + 1)
    return p / p.sum()


def standard(a, axis=0):
    """Shifted and scaled to mean 0 and variance 1 along an axis."""
    return (a - a.mean(axis=axis, keepdims=True)) / a.std(axis=axis, keepdims=True)


def turned(u, angle):
    """Vectors u (n, 2 d), each pair of coordinates turned in its plane by the angle."""
    first, second = u[:, 0::2], u[:, 1::2]
    result = np.empty_like(u)
    result[:, 0::2] = first * np.cos(angle) - second * np.sin(angle)
    result[:, 1::2] = second * np.cos(angle) + first * np.sin(angle)
    return result
