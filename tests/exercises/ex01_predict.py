"""1. Predict, then run (Section 3.2).

After 50 impressions each, Ad_A has one click and Ad_B has none. alpha is 1. Write down what you expect, to two
decimals, and only then run `python guideboot.py`.
"""
BOOTSTRAP_SAYS_A_IS_0 = None      # probability that the bootstrap's estimate for Ad_A is 0
BOOTSTRAP_SHOWS_B = None          # probability that the bootstrap shows Ad_B; a tie is decided by a coin
GUIDEBOOT_SHOWS_B = None          # the same for the guided bootstrap
GUIDED_MEAN_B = None              # mean of the guided estimate for Ad_B, divided by the Beta posterior's mean
