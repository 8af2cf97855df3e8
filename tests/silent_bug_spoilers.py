"""SPOILERS: the bugs of silent_bug.py: (answer, test that guards it, [(file, right, wrong)])."""
BUGS = [
    ("nn.sum_rows keeps one gradient of an id that is in a batch more than once, and drops the "
     "others, as `table[ids] += values` does: frequent ids learn too little.",
     "test_nn.py::test_gradient_of_every_parameter_equals_finite_differences",
     [("nn.py", "np.add.reduceat(values.take(order, axis=0), first, axis=0)",
       "values.take(order[first], axis=0)")]),

    ("nn.MLPBag.gradient goes back without the dropout mask (and nn.network returns h2 from before "
     "it): dropped units learn as if they had had a say.",
     "test_nn.py::test_gradient_of_every_parameter_equals_finite_differences",
     [("nn.py", "d2 = d3 * w3 * mask * (h2 > 0)", "d2 = d3 * w3 * (h2 > 0)"),
      ("nn.py", "h2 = relu(h1 @ W2 + b2) * mask", "h2 = relu(h1 @ W2 + b2)"),
      ("nn.py", "z = h2 @ transpose(w3) + b3", "z = h2 * mask @ transpose(w3) + b3")]),

    ("guideboot.replay counts what was shown after learning from it (line 10 of Algorithm 1 after "
     "line 23): the newest row has the density of the step before.",
     "test_guideboot.py::test_replay_learns_after_every_step_or_every_so_many_steps",
     [("guideboot.py", "        agent.update_density(x)", ""),
      ("guideboot.py", "            bag.publish()",
       "            bag.publish()\n        agent.update_density(x)")]),

    ("GuideBoot draws fakes once, when a row is shown, and keeps them in the history (it overrides "
     "`remember`), instead of anew for every resampled row with the density of now: fakes of the "
     "first steps never fade. In `online`, which has no history, there are none.",
     "test_guideboot.py::test_what_guideboot_trains_with",
     [("guideboot.py", "g = guidance(rho, self.alpha)",
       "self.last_w = 1.0 + 2.0 * guidance(rho, self.alpha)\n        return np.ones(r.shape), r\n\n"
       "    def remember(self, history, x, r):\n"
       "        history.append(x, r)\n        g = guidance(self.density(x), self.alpha)"),
      ("guideboot.py", "w, y = fake_samples(r, g, self.rng)",
       "if self.rng.random() < g:\n            history.append(x, 1)"),
      ("guideboot.py", "self.last_w = w\n        return w, y",
       "if self.rng.random() < g:\n            history.append(x, 0)")]),

    ("guideboot.History.resample draws one resample for all K models: what differs between them "
     "is how they began (and their fakes), not the data.",
     "test_guideboot.py::test_what_a_history_of_any_size_gives_back",
     [("guideboot.py", "drawn = (self.size * rng.random(shape)).astype(np.intp)",
       "drawn = (self.size * rng.random(shape[1:])).astype(np.intp)\n"
       "        drawn = np.tile(drawn, (shape[0], 1))")]),

    ("nn.ServedAds.publish projects the items once, before the first update, and never again: "
     "decisions are made with an old half of the first layer.",
     "test_nn.py::test_the_scores_of_every_bag_are_those_of_its_published_parameters",
     [("nn.py", "        if not self.many:",
       "        if not self.many and self.E_optimizer.t == 0:")]),

    ("The square root of the bonus is missing in both upper confidence bounds, "
     "baselines.DeepUCB1.choose and baselines.GLMUCB.bounds.",
     "test_baselines.py::test_glm_ucb_chooses_as_stated",
     [("baselines.py", "np.sqrt(2.0 * math.log(t) / count)", "2.0 * math.log(t) / count"),
      ("baselines.py", "math.sqrt(math.log(t + 1)) * np.sqrt(norm2)",
       "math.log(t + 1) * norm2")]),

    ("guideboot.argmax takes the first of several largest scores, as NumPy's does, not a random "
     "one: where all are equal, the first candidate is always shown.",
     "test_guideboot.py::test_argmax_is_an_index_of_the_largest_score",
     [("guideboot.py", "int(ties[int(len(ties) * rng.random())])", "int(ties[0])")]),

    ("baselines.OBB.samples weighs the samples but not their clicks: a click of weight 3 counts as "
     "one click in three, one of weight 0 as a click without a trial.",
     "test_baselines.py::test_what_obb_trains_with",
     [("baselines.py", "return w, w * r\n", "return w, r\n")]),

    ("baselines.Giro.remember adds its pseudo pairs to a copy of the history that is thrown away: "
     "no model is ever trained on them, and Giro is a bootstrap, if with settings of its own (so "
     "its row is not Bootstrap's).",
     "test_baselines.py::test_giro_on_rows_and_on_arms",
     [("baselines.py", "import math\n", "import copy\nimport math\n"),
      ("baselines.py", "            history.append(x, 0)",
       "            history = copy.copy(history)\n            history.append(x, 0)")]),
]
