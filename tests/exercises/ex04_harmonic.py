"""4. The harmonic density of Eq. 7:  rho(x) = 1 / (1 / Count(x_1) + ... + 1 / Count(x_J)).

`update(X)` gets one row of ids (J,) or a buffer of rows (c, J), in which an id may occur many
times. A call gets any stack of rows (..., J) and returns rho (...). An input with an id never seen
has rho = 0. No warnings, please. Do not look at guideboot.Harmonic before you are done.
"""
import numpy as np


class Harmonic:
    def __init__(self, features):
        self.count = np.zeros(features)

    def update(self, X):
        raise NotImplementedError("count[X] += 1 counts an id that is in X twice only once: "
                                  "see numpy.add.at")

    def __call__(self, X):
        raise NotImplementedError("1 / 0 is infinite, and 1 / infinite is 0, just as wished: "
                                  "see numpy.errstate, or keep 1 / Count")
