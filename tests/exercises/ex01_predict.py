"""1. Predict, then compute (Section 3.2).

After 40 impressions each, Ad_A has two clicks and Ad_B has none. alpha is 1. Write down what you
expect, numbers to two decimals; only then run `python run_arms.py`, which does the same for 50
impressions and one click, and guess again.
"""
import helper

import guideboot
import run_arms

# The probability that the bootstrap's estimate for Ad_A is 0.
BOOTSTRAP_SAYS_A_IS_0 = None

# The probability that the bootstrap shows Ad_B; a tie is decided by a coin.
BOOTSTRAP_SHOWS_B = None

# "more often", "less often" or "as often", compared with draws from the Beta posteriors.
GUIDEBOOT_SHOWS_B = None

# The mean of the guided estimate for Ad_B: "above", "below" or "equal to" Beta's.
GUIDED_MEAN_B = None


def check():
    A, B = (guideboot.bootstrap_distribution(s, 40) for s in (2, 0))
    helper.expect_number("BOOTSTRAP_SAYS_A_IS_0", BOOTSTRAP_SAYS_A_IS_0, A[1][0], 0.0075,
                         "each of the 40 draws misses both clicks with probability 0.95")
    helper.expect_number("BOOTSTRAP_SHOWS_B", BOOTSTRAP_SHOWS_B, run_arms.chance_to_win(B, A),
                         0.0075, "Ad_B's estimate is always 0: it can only tie; then the coin")
    A, B = (guideboot.guided_distribution(s, 40, 1) for s in (2, 0))
    difference = run_arms.chance_to_win(B, A) - run_arms.beta_chance_to_win(1, 41, 3, 39)
    helper.expect_sign("GUIDEBOOT_SHOWS_B", GUIDEBOOT_SHOWS_B, difference,
                       ("as often", "more often", "less often"), "both estimates can be 0, and "
                       "then the coin decides; look at the last column of `python run_arms.py`")
    difference = guideboot.moments(*B)[0] - guideboot.beta_moments(0, 40, 1)[0]
    helper.expect_sign("GUIDED_MEAN_B", GUIDED_MEAN_B, difference, ("equal to", "above", "below"),
                       "it is the mean of (F / 2) / (n + F) with F = F1 + F0, which is concave in "
                       "F: think of Jensen")


if __name__ == "__main__":
    helper.main(check)
