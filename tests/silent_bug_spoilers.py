"""SPOILERS: the bugs of silent_bug.py, each a list of (file, right, wrong)."""
BUGS = [
    [("nn.py",
      "    return ids[first], np.add.reduceat(values.take(order, axis=0), first, axis=0)",
      "    return ids[first], values.take(order[first], axis=0)")],

    [("nn.py",
      "        d2 = d3 * w3 * mask * (h2 > 0)       ",
      "        d2 = d3 * w3 * (h2 > 0)              "),
     ("nn.py",
      "    h2 = relu(h1 @ W2 + b2) * mask       ",
      "    h2 = relu(h1 @ W2 + b2)              "),
     ("nn.py",
      "    z = h2 @ transpose(w3) + b3       ",
      "    z = h2 * mask @ transpose(w3) + b3")],

    [("guideboot.py",
      "        agent.update_density(x)                                     # Alg1:10\n",
      ""),
     ("guideboot.py",
      "            bag.publish()                                           "
      "# Alg1:23, now they serve\n",
      "            bag.publish()                                           "
      "# Alg1:23, now they serve\n"
      "        agent.update_density(x)                                     # Alg1:10\n"),
     ("guideboot.py",
      "    agent.update_density(X)                                         # Alg3:12\n",
      ""),
     ("guideboot.py",
      "    agent.bag.publish()                                             "
      "# Alg3:23, Section 4.2: pushed\n",
      "    agent.bag.publish()                                             "
      "# Alg3:23, Section 4.2: pushed\n"
      "    agent.update_density(X[0])                                      # Alg3:12\n")],

    [("guideboot.py",
      "        g = guidance(rho, self.alpha)                               "
      "# Alg1:14-18 Alg3:16-20\n"
      "        self.weights, clicks = fake_samples(r, g, self.rng)\n"
      "        return self.weights, clicks\n",
      "        return np.ones(r.shape), r\n"
      "\n"
      "    def remember(self, history, x, r):\n"
      "        history.append(x, r)\n"
      "        g = guidance(self.density(x), self.alpha)                   "
      "# Alg1:14-18 Alg3:16-20\n"
      "        if self.rng.random() < g:\n"
      "            history.append(x, 1)\n"
      "        if self.rng.random() < g:\n"
      "            history.append(x, 0)\n")],

    [("guideboot.py",
      "        drawn = (self.size * rng.random(shape)).astype(np.intp)     # (K, b)\n",
      "        drawn = (self.size * rng.random(shape[1:])).astype(np.intp)\n"
      "        drawn = np.tile(drawn, (shape[0], 1))                       # (K, b)\n")],

    [("nn.py",
      "        if len(self.items) <= WHOLE:",
      "        if len(self.items) <= WHOLE and self.table_optimizer.t == 0:")],

    [("baselines.py",
      "self.strength * np.sqrt(2.0 * math.log(t) / count)",
      "self.strength * 2.0 * math.log(t) / count"),
     ("baselines.py",
      "self.strength * math.sqrt(math.log(t + 1)) * np.sqrt(norm2)",
      "self.strength * math.log(t + 1) * norm2")],

    [("guideboot.py",
      "    return int(ties[int(len(ties) * rng.random())])",
      "    return int(ties[0])")],

    [("baselines.py",
      "        return w, w * r\n",
      "        return w, r\n")],
]
