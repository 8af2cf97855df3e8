"""The checks of the exercises: `python -m pytest tests/exercises`.

Every failure says what to look at next.
"""
import warnings

import numpy as np

import guideboot


# ---------------------------------------------------------------- 1. predict

OFTEN = ("more often", "less often", "as often")
ABOVE = ("above", "below", "equal to")


def in_words(words, a, b):
    """The first of three words if a is larger than b, the second if smaller, the last if equal."""
    if a > b:
        return words[0]
    return words[1] if a < b else words[2]


def check_number(name, value, exact, hint):
    assert value is not None, f"write down a guess for {name} first, before you run anything"
    assert abs(value - exact) < 0.0075, f"{name} is not {value}: {hint}"


def check_word(name, value, exact, words, hint):
    assert value is not None, f"write down a guess for {name} first, before you run anything"
    value = str(value).strip().lower()
    assert value in words, f"{name} must be one of {', '.join(words)}, not {value}"
    assert value == exact, f"{name} is not {value}: {hint}"


def test_01_predict():
    import ex01_predict as mine
    boot_A = guideboot.bootstrap_distribution(2, 40)
    boot_B = guideboot.bootstrap_distribution(0, 40)
    _, probabilities = boot_A                                # of the estimates 0, 1/40, 2/40, ...
    check_number("BOOTSTRAP_SAYS_A_IS_0", mine.BOOTSTRAP_SAYS_A_IS_0, probabilities[0],
                 "each of the 40 draws misses both clicks with probability 0.95")
    check_number("BOOTSTRAP_SHOWS_B", mine.BOOTSTRAP_SHOWS_B,
                 guideboot.chance_to_win(boot_B, boot_A),
                 "Ad_B's estimate is always 0: it can only tie, and then there is the coin")

    guided_A = guideboot.guided_distribution(2, 40, 1)
    guided_B = guideboot.guided_distribution(0, 40, 1)
    wins = in_words(OFTEN, guideboot.chance_to_win(guided_B, guided_A),
                    guideboot.beta_chance_to_win(1, 41, 3, 39))
    check_word("GUIDEBOOT_SHOWS_B", mine.GUIDEBOOT_SHOWS_B, wins, OFTEN,
               "both estimates can be 0, and then the coin decides; run `python run_arms.py` and "
               "look at the last column")
    guided_mean, _ = guideboot.moments(*guided_B)
    beta_mean, _ = guideboot.beta_moments(0, 40, 1)
    mean = in_words(ABOVE, guided_mean, beta_mean)
    check_word("GUIDED_MEAN_B", mine.GUIDED_MEAN_B, mean, ABOVE,
               "by symmetry it is the mean of (F / 2) / (n + F) with F = F1 + F0, which is concave "
               "in F: think of Jensen")


# ---------------------------------------------------------------- 2. moments

def beta_by_numbers(a, b):
    """Mean and variance of Beta(a, b), summed up on a grid."""
    x = (np.arange(200_000) + 0.5) / 200_000
    p = np.exp((a - 1) * np.log(x) + (b - 1) * np.log1p(-x))
    p /= p.sum()
    mean = x @ p
    return mean, (x - mean) ** 2 @ p


def test_02_moments():
    import ex02_moments as mine
    for s, n, alpha in ((1, 50, 1.0), (0, 50, 1.0), (3, 20, 0.5), (7, 7, 2.0)):
        a, b = alpha + s, alpha + n - s
        mean, variance = beta_by_numbers(a, b)
        got = mine.beta(s, n, alpha)
        assert abs(got[0] - mean) < 1e-5, (
            f"mean of Beta for s={s}, n={n}, alpha={alpha} is {mean:.5f}, not {got[0]:.5f}: "
            "is the prior in both numbers?")
        assert abs(got[1] / variance - 1) < 1e-3, (
            f"variance of Beta({a}, {b}) is {variance:.6f}, not {got[1]:.6f}: "
            "a b / ((a + b)^2 (a + b + 1))")

        mean, variance = guideboot.moments(*guideboot.bootstrap_distribution(s, n))
        got = mine.bootstrap(s, n)
        assert abs(got[0] - mean) < 1e-9, (
            f"mean of the bootstrap for s={s}, n={n} is {mean:.5f}, not {got[0]:.5f}: "
            "no prior here")
        assert abs(got[1] - variance) < 1e-9, (
            f"variance of the bootstrap for s={s}, n={n} is {variance:.6f}, not {got[1]:.6f}: "
            "Var(Bi / n) = n p (1 - p) / n^2")

    for s, n, alpha in ((1, 50, 1), (0, 4, 2)):
        joined = guideboot.bootstrap_distribution(s + alpha, n + 2 * alpha)
        mean, variance = guideboot.moments(*joined)
        got = mine.fakes_before(s, n, alpha)
        right = abs(got[0] - mean) < 1e-9 and abs(got[1] - variance) < 1e-9
        assert right, (
            f"fakes before resampling, s={s}, n={n}, alpha={alpha}: mean {mean:.5f}, "
            f"variance {variance:.6f}, not {got}: now s + alpha of n + 2 alpha are clicks")


# ---------------------------------------------------------------- 3. fused

def test_03_fused():
    import ex03_fused as mine
    from nn import log_loss
    rng = np.random.default_rng(0)
    z = 2 * rng.standard_normal((3, 7))
    r, F1, F0 = rng.integers(0, 2, (3, 3, 7))

    def total(z):
        return log_loss(z, 1, r) + F1 * log_loss(z, 1, 1) + F0 * log_loss(z, 1, 0)
    wanted = (total(z + 1e-5) - total(z - 1e-5)) / 2e-5
    got = mine.gradient(z, r, F1, F0)
    plain = (F1 == 0) & (F0 == 0)
    right = np.shape(got) == z.shape and np.allclose(got[plain], wanted[plain], atol=1e-6)
    assert right, "without fakes it must be sigmoid(z) - r"
    assert np.allclose(got, wanted, atol=1e-6), (
        "with fakes it is not yet the sum: is each fake's own label in it, and is it the sum, not "
        "the mean?")


# ---------------------------------------------------------------- 4. harmonic

def test_04_harmonic():
    import ex04_harmonic as mine
    rng = np.random.default_rng(0)
    shown = np.column_stack([rng.integers(0, 3, 40), 3 + rng.integers(0, 2, 40)])
    count = np.array([(shown == i).sum() for i in range(7)])
    density = mine.Harmonic(7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        density.update(shown[:39])
        density.update(shown[39])
        assert np.array_equal(density.count, count), (
            "the counts are wrong: an id may be many times in one buffer, and a single row (J,) "
            "is an update too")
        X = np.array([[[0, 3], [1, 4]], [[2, 4], [5, 3]]])   # id 5 was never seen
        try:
            got = np.asarray(density(X))
        except RuntimeWarning as warning:
            raise AssertionError(
                f"{warning}: put the division into `with numpy.errstate(divide='ignore')`, "
                "or keep 1 / Count") from None
        assert got.shape == (2, 2), (
            f"a stack of rows (2, 2, J) gives rho (2, 2), not {got.shape}: sum over the last axis")
        assert not np.isnan(got).any() and got[1, 1] == 0, (
            f"an id never seen makes rho 0, not {got[1, 1]}")
        wanted = [1 / (1 / count[i] + 1 / count[j]) for i, j in ((0, 3), (1, 4), (2, 4))]
        assert np.allclose(got.ravel()[:3], wanted), (
            "rho is 1 / sum of 1 / Count: Eq. 7 is not scaled by J")


# ---------------------------------------------------------------- 5. learning

class Recorder:
    """Agent, bag and density in one: writes down what the learning phase does."""

    def __init__(self, K, alpha):
        self.K, self.alpha = K, alpha
        self.rng = np.random.default_rng(3)
        self.said = []
        self.batches = []
        self.bag = self.density = self

    def __call__(self, X):
        """Ids from 12 on were seen so often that they get no fakes."""
        self.said.append("rho")
        return np.where(X[..., 0] < 12, 4.0, 1e12)

    def update(self, X, w=None, y=None):
        if w is None:
            self.said.append("count")
        else:
            self.said.append("train")
            self.batches.append((np.array(X), np.array(w), np.array(y)))

    def publish(self):
        self.said.append("publish")


def check_order(said):
    """What was done, in which order."""
    assert said[0] == "count" and said.count("count") == 1, (
        "line 12: the density is updated with the buffer, once and before all else")
    assert said[-1] == "publish" and said.count("publish") == 1, (
        "line 23 and Section 4.2: the models are pushed once, when learning is complete")


def check_batches(batches, K, c, n):
    """Their number and shapes."""
    assert len(batches) != n * K, (
        "one call of bag.update trains all K models: stack their l-th mini-batches to (K, B, J)")
    assert len(batches) == n, (
        f"n = {n} mini-batches, so {n} calls of bag.update, not {len(batches)}")
    for X, w, y in batches:
        right = X.shape == (K, c // n, 2) and w.shape == y.shape == (K, c // n)
        assert right, "bag.update takes (K, B, J), (K, B), (K, B)"


def check_shuffle(ids):
    """The order in which each model sees the records; ids (K, c)."""
    in_order = np.arange(ids.shape[1])
    for row in ids:
        assert np.array_equal(np.sort(row), in_order), (
            "every model sees every record of the buffer exactly once")
        assert not np.array_equal(row, in_order), "line 14: the buffer is not shuffled"
    own = not np.array_equal(ids[0], ids[1]) and not np.array_equal(ids[1], ids[2])
    assert own, "line 14 is inside the loop over k: every model has an order of its own"


def check_fakes(ids, w, y, clicks, rare, alpha):
    """Weights and clicks of the records; all arrays (K, c)."""
    plain = w == 1
    assert plain[~rare].all(), "rho belongs to the row: rows with a huge rho got fakes"
    assert (y[plain] == clicks[plain]).all(), (
        "a record's reward must stay with its row when the buffer is shuffled")
    if alpha == 4.0:
        both = (w[rare] == 3).all() and (y[rare] == clicks[rare] + 1).all()
        assert both, ("with g = 1 both fakes join a record: weight 3, clicks r + 1 "
                      "(fake_samples does it)")
        return
    fakes = w[rare].mean() - 1           # 720 records: 0.5 on average, standard deviation 0.023
    assert 0.4 < fakes < 0.6, (
        "g is min(alpha / rho, 1) = 1/4 here, so 0.5 fakes per record on average, "
        f"not {fakes:.2f}")
    assert {0, 1} == set((y - clicks)[w == 2]), (
        "a fake click and a fake non-click have a coin each: one may come without the other")
    first, second = w[0][np.argsort(ids[0])], w[1][np.argsort(ids[1])]
    assert not np.array_equal(first, second), "every model draws fakes of its own"


def test_05_learning():
    import ex05_learning as mine
    K, c, n = 3, 480, 4
    X = np.column_stack([np.arange(c) % 24, 100 + np.arange(c)])
    r = np.arange(c) // 24 % 2
    for alpha in (1.0, 4.0):
        agent = Recorder(K, alpha)
        mine.learn(agent, X.copy(), r.copy(), n)
        check_order(agent.said)
        check_batches(agent.batches, K, c, n)
        seen, w, y = (np.concatenate(arrays, axis=1) for arrays in zip(*agent.batches))
        ids = seen[..., 1] - 100
        check_shuffle(ids)
        check_fakes(ids, w, y, r[ids], seen[..., 0] < 12, alpha)


# ---------------------------------------------------------------- 6. ties

def test_06_ties():
    import ex06_ties as mine
    rng = np.random.default_rng(0)
    for scores, first in (([0.0, 0.0], 0), ([1.0, 3.0, 3.0], 1), ([2.0, 1.0], 0)):
        assert mine.first_largest(np.array(scores), rng) == first, (
            "the first of the largest scores, as an int")
    assert mine.BY_INDEX_IS in ("better", "worse", "the same"), (
        'predict: BY_INDEX_IS = "better", "worse" or "the same"')
    at_random = mine.regret(guideboot.argmax)                # 100 runs each, the same arms
    by_index = mine.regret(mine.first_largest)
    truth = "the same"
    if by_index > 1.1 * at_random:
        truth = "worse"
    elif at_random > 1.1 * by_index:
        truth = "better"
    assert mine.BY_INDEX_IS == truth, (
        f"measured: {at_random:.1f} at random, {by_index:.1f} by index; "
        "which arms are pulled while all estimates are 0?")


# ---------------------------------------------------------------- 7. prior

def test_07_prior():
    import ex07_prior as mine
    numbers = mine.CLICKS_A, mine.IMPRESSIONS_A, mine.CLICKS_B, mine.IMPRESSIONS_B
    assert all(isinstance(number, int) for number in numbers), "four whole numbers, please"
    sA, nA, sB, nB = numbers
    possible = 0 <= sA <= nA and 0 <= sB <= nB and 1 <= nA <= 300 and 1 <= nB <= 300
    assert possible, "0 <= clicks <= impressions, and 1 to 300 impressions"
    boot = guideboot.chance_to_win(guideboot.bootstrap_distribution(sB, nB),
                                   guideboot.bootstrap_distribution(sA, nA))
    assert boot < 0.001, (
        f"the bootstrap still shows Ad_B with probability {boot:.4f}: "
        "when can an estimate of 0 win, and when can Ad_A's be 0 too?")
    guided = guideboot.chance_to_win(guideboot.guided_distribution(sB, nB, 1),
                                     guideboot.guided_distribution(sA, nA, 1))
    assert guided > 0.5, (
        f"GuideBoot shows Ad_B with probability {guided:.4f}: the fewer the impressions, the "
        "larger g = alpha / n; with n = 1 it is 1, and the estimate exactly 1/3")


# ---------------------------------------------------------------- 8. density

def test_08_density():
    import ex08_density as mine
    gap = mine.regret(mine.MyDensity) - mine.regret(mine.Harmonic)
    error = gap.std(ddof=1) / len(gap) ** 0.5
    assert gap.mean() < -2 * error, (
        f"regret minus Eq. 7's is {gap.mean():+.1f} with a standard error of {error:.1f}: "
        "it must be below -2 standard errors. More fakes or fewer? Early or late?")


# ---------------------------------------------------------------- 9. environment

def test_09_environment():
    import ex09_environment as mine
    from envs import Scored, checked
    from nn import LogisticBag
    env = checked(mine.MyEnvironment(np.random.default_rng(0)))
    assert env.fields >= 2, "an input needs at least two fields"
    gaps = []
    hits = hoped = variance = 0.0
    for i in range(4000):
        X = env.observe()                # says itself what is wrong with the ids
        assert len(X) >= 3, "a request needs at least three candidates"
        y = np.asarray(env.env._expected(), float)
        right = y.shape == (len(X),) and (y >= 0).all() and (y <= 1).all()
        assert right, "_expected() is one probability per candidate"
        gaps.append(y.max() - y.mean())
        a = i % len(X)
        hits += env.pull(a)
        hoped += y[a]
        variance += y[a] * (1 - y[a])
    gap = np.mean(gaps)
    assert abs(hits - hoped) <= 4 * max(1.0, variance) ** 0.5, (
        f"pull() gave {hits:.0f} rewards where _expected() promises {hoped:.0f}")
    assert gap > 0.05, (
        f"the best candidate is only {gap:.3f} above the average one: nothing to learn")

    env = Scored(mine.MyEnvironment(np.random.default_rng(1)), 3000)
    rngs = [np.random.default_rng([2, k]) for k in range(5)]
    bag = LogisticBag(env.features, rngs, learning_rate=0.01)
    density = guideboot.Harmonic(env.features)
    agent = guideboot.GuideBoot(bag, np.random.default_rng(3), density)
    guideboot.replay(agent, env, 3000, b=32)
    early, late = env.regret[:300].mean(), env.regret[-1000:].mean()
    assert late < 0.7 * gap, (
        f"GuideBoot's regret at the end, {late:.3f} a step, is not clearly below random choice's, "
        f"{gap:.3f} (at first {early:.3f}): do the ids say what the reward depends on, and does "
        "each add its part? (a logistic model has no interactions)")


# ---------------------------------------------------------------- 10. forgetting

def test_10_forgetting():
    import ex10_forgetting as mine
    history = mine.Recent(1, 1200)
    for i in range(1200):
        history.append([i], i % 2)
    X, r = history.resample((2, 4000), np.random.default_rng(0))
    assert X.shape == (2, 4000, 1) and r.shape == (2, 4000), (
        "resample returns rows (K, b, J) and rewards (K, b)")
    assert (r == X[..., 0] % 2).all(), "a row and its reward belong together"
    newest = set(range(700, 1200))
    drawn = set(np.unique(X))
    assert drawn <= newest, "a row older than the newest 500 was drawn"
    assert drawn == newest, (
        "each of the newest 500 rows must be able to come up, the oldest and the newest too")

    few = mine.Recent(1, 5)
    few.append([4], 1)
    X, _ = few.resample((1, 9), np.random.default_rng(0))
    assert (X == 4).all(), "with fewer than 500 stored rows, all of them take part"

    turned = mine.regret(guideboot.History, 1500).mean()
    kept = mine.regret(mine.Recent, 1500).mean()
    assert kept < 0.7 * turned, (
        f"after the turn, forgetting should pay: {kept:.0f} against {turned:.0f}")
