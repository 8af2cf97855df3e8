"""9. An environment of your own: a newspaper, a vending machine, a bus line; about twenty lines.

The docstring of envs.py says what an environment has and shows one. Yours needs at least two
fields, at least three candidates per request, and something to learn: the best candidate's expected
reward must be clearly above the average one's. A logistic model will learn it, so let each id add
its part; what only a pair of ids decides needs an id of its own.
"""
import numpy as np


class MyEnvironment:
    fields, features = 0, 0

    def __init__(self, rng):
        raise NotImplementedError("observe() returns ids (m, J), pull(a) a 0 or 1, "
                                  "_expected() the m expected rewards")
