"""1. Predict, then compute (Section 3.2).

After 40 impressions each, Ad_A has two clicks and Ad_B has none. alpha is 1. Write down what you
expect, numbers to two decimals; only then run `python run_arms.py`, which does the same for 50
impressions and one click, and guess again.
"""
# The probability that the bootstrap's estimate for Ad_A is 0.
BOOTSTRAP_SAYS_A_IS_0 = None

# The probability that the bootstrap shows Ad_B; a tie is decided by a coin.
BOOTSTRAP_SHOWS_B = None

# "more often", "less often" or "as often", compared with draws from the Beta posteriors.
GUIDEBOOT_SHOWS_B = None

# The mean of the guided estimate for Ad_B: "above", "below" or "equal to" Beta's.
GUIDED_MEAN_B = None
