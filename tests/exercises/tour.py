"""An hour with the paper: the reading path, to be run part by part.

Open it in an editor that runs cells (`# %%`), or paste a part into `python -i` started in the
project's folder, or run it whole: `python tests/exercises/tour.py`, some seconds. Read the section
of the paper, PREDICT, run the part, look at the function, then change what is suggested.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from baselines import OBB
from envs import Ads, Synthetic, stream
from guideboot import (AdCount, Agent, GuideBoot, Harmonic, History, bootstrap_distribution,
                       chance_to_win, fake_samples, guidance, guided_distribution, learn, moments,
                       beta_moments, serve)
from nn import LogisticBag

# %% Section 3.2, an ad that is never shown again: 50 impressions each, Ad_A has a click, Ad_B none.
# PREDICT: how often does a bootstrap show Ad_B? The paper says never.
# LOOK at guideboot.bootstrap_distribution and guided_distribution: nothing is sampled.
print("Ad_B is shown by the bootstrap, by the guided bootstrap:")
for A, B in ((bootstrap_distribution(1, 50), bootstrap_distribution(0, 50)),
             (guided_distribution(1, 50, 1), guided_distribution(0, 50, 1))):
    print(f"  {chance_to_win(B, A):.4f}")
# CHANGE alpha from 1 to 5. `python run_arms.py` shows the whole distributions.

# %% Section 3.2, fake samples: rewards 1, 0, 0; fakes certain for two, never for the last.
# PREDICT the weights w and the clicks y of the three samples.
# LOOK at guideboot.fake_samples and nn.log_loss_gradient: no row is added anywhere.
w, y = fake_samples(np.array([1, 0, 0]), np.array([1.0, 1.0, 0.0]), np.random.default_rng(0))
print("\nweights", w, "clicks", y)
# CHANGE the middle probability to 0.5 and run it with ten seeds.

# %% Section 3.3, resampling: a history of three samples, five drawn for each of two models.
# PREDICT: will both models see all three samples? How likely is that for three drawn of three?
# LOOK at guideboot.History.resample.
history = History(fields=1, features=10)
for i in (7, 8, 9):
    history.append([i], i % 2)
X, r = history.resample((2, 5), np.random.default_rng(1))
print("\nresampled ids\n", X[:, :, 0])
# CHANGE (2, 5) to (1000, 3) and count the resamples that hold all three: 3!/3^3 = 2/9 of them?

# %% Section 3.4, guidance: ids 0 and 3 were seen nine times, 1 and 4 three times, 2 never.
# PREDICT the guidance of the inputs [0, 3], [1, 3] and [2, 4] for alpha = 1.
# LOOK at guideboot.Harmonic: the rarest id weighs most.
density = Harmonic(5)
density.update(np.array([[0, 3]] * 9 + [[1, 4]] * 3))
rho = density(np.array([[0, 3], [1, 3], [2, 4]]))
print("\ndensity", rho, "guidance", guidance(rho, 1.0).round(3))
# CHANGE Harmonic(5) to AdCount(5). Which of the three have another guidance now?

# %% Section 3.4, is it a posterior? s clicks in n: mean and std of the guided one over Beta's.
# PREDICT: do they come closer to 1 as n grows? And the whole distribution, for an ad that has no
# clicks?
print("\n  s    n    mean / Beta's   std / Beta's   P(estimate is 0)")
for s, n in ((1, 50), (16, 800), (0, 50), (0, 800)):
    values, p = guided_distribution(s, n, 1)
    mean, variance = moments(values, p)
    beta_mean, beta_variance = beta_moments(s, n, 1)
    print(f"{s:3} {n:4} {mean / beta_mean:14.3f} {(variance / beta_variance) ** 0.5:14.3f} "
          f"{p[values == 0].sum():14.3f}")
# CHANGE alpha; `python run_arms.py --figure` draws it.

# %% Algorithm 3: a buffer of 8 requests is served, then each of five models learns from it.
# PREDICT: two mini-batches of four records; how much weight has each with all its fakes?
# LOOK at guideboot.serve and guideboot.learn, with the listing beside them.
bag = LogisticBag(35, [stream(0, "models", k) for k in range(5)])
agent = GuideBoot(bag, stream(0, "agent"), Harmonic(35))
X, r = serve(agent, Synthetic(0), 0, 8)
update = bag.update
bag.update = lambda X, w, y: print("\nmini-batch", X.shape, "total weights", w.sum(axis=1))
learn(agent, X, r, n=2)
bag.update = update
print("density of the eight rows", agent.density(X).round(2))
# CHANGE: feed the same buffer to learn five times. When do the weights fall, and why?

# %% What differs between methods: the samples of the same buffer for Bootstrap, OBB, GuideBoot.
# PREDICT which of the three weights can be 0, and which can be 2.
X = np.broadcast_to(X, (5, *X.shape))
r = np.broadcast_to(r, (5, *r.shape))
for method in (Agent(bag, stream(1, "agent")), OBB(bag, stream(1, "agent")), agent):
    print(f"{type(method).__name__:10} weights of model 0", method.samples(X, r)[0][0].astype(int))
# CHANGE: what would Giro do? (It does something else, somewhere else.)

# %% Section 5.2, the ads: the stand-in for Tencent's simulator A at the size of Table 2.
# PREDICT the shape of one request as an array of ids.
# LOOK at nn.MLPBag, forward and backward on one page.
ads = Ads(seed=0, task="A")
print(f"\n{ads.steps:,} steps, {len(ads.table):,} ads, {ads.features:,} ids; one request has the "
      f"shape {np.asarray(ads.observe()).shape}")
counts = AdCount(ads.features, field=13)
print("guidance of ads never shown:", set(guidance(counts(np.asarray(ads.observe())), 0.1)))
# NEXT: `python run_ads.py`, and the exercises.
