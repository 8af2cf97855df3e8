"""5. Algorithm 3, lines 12 to 23: the learning phase of Online GuideBoot, from the paper's listing.

    agent.bag       has K models; bag.update(X, w, y) makes one gradient step of every model k on
                    its own mini-batch X[k] (B, J) with weights w[k] and clicks y[k] (B,);
                    bag.publish() pushes the models to the servers
    agent.density   update(X) counts rows; density(X) is rho for any stack of rows
    agent.alpha, agent.rng

Use `guidance` and `fake_samples` from guideboot.py. Do not look at guideboot.learn before you are
done.
"""
import numpy as np

from guideboot import fake_samples, guidance


def learn(agent, X, r, n):
    """One learning phase on the buffer X (c, J), r (c,), with n mini-batches per model.

    n divides c.
    """
    raise NotImplementedError("line 12 first; every model k shuffles the buffer its own way; "
                              "look at rng.permuted")
