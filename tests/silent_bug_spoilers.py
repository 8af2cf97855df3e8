"""SPOILERS: the bugs of silent_bug.py, each a list of (file, right, wrong)."""
BUGS = [
    [("nn.py", "    return ids[first], np.add.reduceat(values.take(order, axis=0), first, axis=0)",
      "    return ids[first], values.take(order[first], axis=0)")],
    [("nn.py", "        if mask is not None:\n            d2 *= mask\n", ""),
     ("nn.py", "        if mask is not None:\n            h2 *= mask\n        z = np.matmul(h2, self", "        z = np.matmul(h2 if mask is None else h2 * mask, self")],
    [("guideboot.py", "        agent.update_density(x)                                                # Alg1:10\n", ""),
     ("guideboot.py", "            bag.publish()                                                      # Alg1:23  (end of the loop: the next step serves these)\n",
      "            bag.publish()                                                      # Alg1:23\n"
      "        agent.update_density(x)                                                # Alg1:10\n"),
     ("guideboot.py", "    agent.update_density(X)                                                    # Alg3:12\n", ""),
     ("guideboot.py", "    agent.bag.publish()                                                        # Alg3:23  (end of the loop; Section 4.2: pushed to serving)\n",
      "    agent.bag.publish()                                                        # Alg3:23\n"
      "    agent.update_density(X[0])                                                 # Alg3:12\n")],
    [("guideboot.py", """        g = guidance(self.density(X), self.alpha)                              # Alg1:14-18 Alg3:16-20  every record at once
        return fake_samples(r, g, self.rng)
""", """        return np.ones(r.shape), r

    def remember(self, history, x, r):
        history.append(x, r)
        g = guidance(self.density(x), self.alpha)                              # Alg1:14-18 Alg3:16-20
        if self.rng.random() < g:
            history.append(x, 1)
        if self.rng.random() < g:
            history.append(x, 0)
""")],
    [("guideboot.py", "        rows = (self.size * rng.random(shape)).astype(np.intp)\n",
      "        rows = np.tile((self.size * rng.random(shape[1:])).astype(np.intp), (shape[0], 1))\n")],
    [("nn.py", "        if self.items is not None:\n            for k in range(self.K):\n                e =",
      "        if self.items is not None and self.dense_optimizer.t == 0:\n            for k in range(self.K):\n                e =")],
    [("baselines.py", "self.strength * np.sqrt(2.0 * math.log(t) / count)", "self.strength * 2.0 * math.log(t) / count"),
     ("baselines.py", "self.strength * math.sqrt(math.log(t + 1)) * np.sqrt(norm2)", "self.strength * math.log(t + 1) * norm2")],
    [("guideboot.py", "    return a if len(ties) == 1 else int(ties[int(len(ties) * rng.random())])", "    return a if len(ties) == 1 else int(ties[0])")],
    [("baselines.py", "        return w, w * r\n", "        return w, r\n")],
]
