"""An hour with the paper: the reading path, to be run part by part.

Open it in an editor that runs cells (`# %%`), or paste a part into `python -i` started in the
project's folder, or run it whole: `python tests/exercises/tour.py`, some seconds. Read the section
of the paper, PREDICT, run the part, look at the function, then change what is suggested.
"""
import signal
import sys
from pathlib import Path

if hasattr(signal, "SIGPIPE"):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)            # `| head` is no error

if sys.argv[0].endswith("tour.py") and len(sys.argv) > 1:
    sys.exit(f"tour.py takes no options, got {' '.join(sys.argv[1:])}")

here = Path(globals().get("__file__", "tests/exercises/tour.py"))    # pasted, there is no __file__
sys.path.insert(0, str(here.resolve().parents[2]))

import numpy as np

import run_arms
from baselines import OBB, LogisticPosterior
from envs import Ads, Synthetic, stream
from guideboot import (AdCount, Agent, GuideBoot, Harmonic, History, bootstrap_distribution,
                       fake_samples, guidance, guided_distribution, learn, replay, serve)
from nn import LogisticBag

# %% Section 3.2, an ad that is never shown again: 50 impressions each, Ad_A has a click, Ad_B none.
# PREDICT: how often does a bootstrap show Ad_B? The paper says never.
# LOOK at guideboot.bootstrap_distribution and guided_distribution: nothing is sampled.
print("1. Ad_B is shown with probability (bootstrap, guided bootstrap)")
for A, B in ((bootstrap_distribution(1, 50), bootstrap_distribution(0, 50)),
             (guided_distribution(1, 50, 1), guided_distribution(0, 50, 1))):
    print(f"   {run_arms.chance_to_win(B, A):.4f}")
# CHANGE alpha from 1 to 5. `python run_arms.py` shows the whole distributions.

# %% Section 3.2, fake samples: rewards 1, 0, 0; fakes are certain for two of them, never for one.
# PREDICT the weights w and the clicks y of the three samples.
# LOOK at guideboot.fake_samples and nn.log_loss_gradient: no row is added anywhere.
w, y = fake_samples(np.array([1, 0, 0]), np.array([1.0, 1.0, 0.0]), np.random.default_rng(0))
print("\n2. weights", w, "clicks", y)
# CHANGE the middle probability to 0.5 and run it with ten seeds.

# %% Section 3.3, resampling: a history of three samples, five drawn for each of two models.
# PREDICT: will both models see all three samples? How likely is that for three drawn of three?
# LOOK at guideboot.History.resample.
history = History(fields=1, features=10)
for i in (7, 8, 9):
    history.append([i], i % 2)

X, r = history.resample((2, 5), np.random.default_rng(1))
print("\n3. resampled ids of two models:", *X[:, :, 0])
# CHANGE (2, 5) to (1000, 3) and count the resamples that hold all three: 3!/3^3 = 2/9 of them?

# %% Section 3.4, guidance: ids 0 and 3 were seen nine times, 1 and 4 three times, 2 never.
# PREDICT the guidance of the inputs [0, 3], [1, 3] and [2, 4] for alpha = 1.
# LOOK at guideboot.Harmonic: the rarest id weighs most.
density = Harmonic(5)
density.update(np.array([[0, 3]] * 9 + [[1, 4]] * 3))
rho = density(np.array([[0, 3], [1, 3], [2, 4]]))
print("\n4. density", rho, "guidance", guidance(rho, 1.0).round(3))
# CHANGE Harmonic(5) to AdCount(5, field=0). Which of the three have another guidance now?

# %% Algorithm 3: a buffer of 8 requests is served, then each of five models learns from it.
# PREDICT: two mini-batches of four records; how much weight has each with all its fakes?
# LOOK at guideboot.serve and guideboot.learn, with the listing beside them.
bag = LogisticBag(35, [stream(0, "models", k) for k in range(5)])
agent = GuideBoot(bag, stream(0, "agent"), Harmonic(35))
X, r = serve(agent, Synthetic(0), 0, 8)
update = bag.update
bag.update = lambda X, w, y: print("   mini-batch", X.shape, "total weights", w.sum(axis=1))
print("\n5. two mini-batches for each of five models")
learn(agent, X, r, n=2)
bag.update = update
print("   density of the eight rows", agent.density(X).round(2))
# CHANGE: feed the same buffer to learn five times. When do the weights fall, and why?

# %% What differs between methods: the samples of the same buffer for Bootstrap, OBB, GuideBoot.
# PREDICT which of the three weights can be 0, and which can be 2.
X = np.broadcast_to(X, (5, *X.shape))
r = np.broadcast_to(r, (5, *r.shape))
print("\n6. weights of the eight samples for model 0")
for name, method in (("Bootstrap", Agent(bag, stream(1, "agent"))),
                     ("OBB", OBB(bag, stream(1, "agent"))), ("GuideBoot", agent)):
    print(f"   {name:10}", method.samples(X, r)[0][0].astype(int))
# CHANGE: what would Giro do? (It does something else, somewhere else.)

# %% Section 5.2, the ads: the stand-in for Tencent's simulator A at the size of Table 2.
# PREDICT the shape of one request as an array of ids.
# LOOK at nn.MLPBag, forward and backward on one page.
ads = Ads(seed=0, task="A")
print(f"\n7. {ads.steps:,} steps, {len(ads.table):,} ads, {ads.features:,} ids; a request has the "
      f"shape {np.asarray(ads.observe()).shape}")
counts = AdCount(ads.features, field=13)
print("   guidance of ads never shown:", guidance(counts(np.asarray(ads.observe())), 0.1).min())
# CHANGE: `python run_ads.py` runs all methods on it, at 1/50 of the size.

# %% Section 3.4, is it a posterior? Without context: the whole distributions, as n grows.
# PREDICT: do mean and std come closer to Beta's for larger n? And an ad without a click: does the
# probability that its estimate is 0 fall to Beta's, which is 0?
# LOOK at the figure that is written, then at run_arms.figure.
print("\n8. three posteriors")
run_arms.main(["--figure"])
# CHANGE alpha in run_arms.figure to 5, a prior of ten impressions.

# %% And with context? How far 20 models differ after 2,000 steps of replay: the std of an input's
# logit over them, beside that of Laplace's posterior for the same samples, sqrt(phi' H^-1 phi).
# PREDICT the first as a share of the second. Is it the same for inputs rare and well known?
# LOOK at guideboot.replay, Alg1:11: does a model keep its resample, as in a bootstrap?
class Keeping(GuideBoot):
    def remember(self, history, x, r):
        super().remember(history, x, r)
        self.history = history


env, posterior = Synthetic(0), LogisticPosterior(3, 35, rng=None)
bag = LogisticBag(35, [stream(0, "models", k) for k in range(20)], learning_rate=0.002)
agent = Keeping(bag, stream(0, "agent"), Harmonic(35))
replay(agent, env, 2000, b=256)
posterior.learn_from(agent.history.X[:2000], agent.history.r[:2000])
X = np.concatenate([env.observe() for _ in range(100)])
phi = np.zeros((len(X), 36))
np.put_along_axis(phi, posterior.active(X), 1.0, axis=1)
laplace = np.sqrt((phi @ np.linalg.inv(posterior.H) * phi).sum(axis=1))
models = np.std([bag.scores(k, X) for k in range(20)], axis=0, ddof=1)
print("\n9. tenth of inputs   density   std over models   Laplace's   share")
tenths = np.array_split(np.argsort(agent.density(X)), 10)
for name, i in (("rarest", tenths[0]), ("middle", tenths[5]), ("best known", tenths[9])):
    print(f"   {name:15} {agent.density(X[i]).mean():9.1f} {models[i].mean():17.3f} "
          f"{laplace[i].mean():11.3f} {models[i].mean() / laplace[i].mean():7.0%}")
# The models differ by a small share of what is not known, the smallest where least is known: this
# bag is no posterior. Each step draws a new resample, so no model has a data set of its own.
# CHANGE learning_rate to 0.02, then b to 32: what grows, and where?
