"""The paper's Tables 3 and 4, and ours in the same layout."""
import re

import numpy as np

from lab import charts, tables

# (setting, method) -> (reward, std) on A, (reward, std) on B.
PAPER = {
    ("replay", "e-greedy"): ((0.0248, 0.0010), (0.0225, 0.0003)),
    ("replay", "e-greedy (decay)"): ((0.0260, 0.0009), (0.0231, 0.0006)),
    ("replay", "Deep-TS-Beta"): ((0.0262, 0.0007), (0.0238, 0.0002)),
    ("replay", "Deep-UCB1"): ((0.0222, 0.0005), (0.0220, 0.0002)),
    ("replay", "MC-Dropout"): ((0.0245, 0.0010), (0.0221, 0.0006)),
    ("replay", "Bootstrap"): ((0.0264, 0.0010), (0.0239, 0.0003)),
    ("replay", "Giro"): ((0.0249, 0.0012), (0.0230, 0.0003)),
    ("replay", "GuideBoot"): ((0.0280, 0.0006), (0.0248, 0.0003)),
    ("online", "e-greedy"): ((0.0289, 0.0006), (0.0254, 0.0002)),
    ("online", "e-greedy (decay)"): ((0.0293, 0.0012), (0.0261, 0.0002)),
    ("online", "Deep-TS-Beta"): ((0.0295, 0.0004), (0.0266, 0.0001)),
    ("online", "Deep-UCB1"): ((0.0243, 0.0004), (0.0237, 0.0001)),
    ("online", "MC-Dropout"): ((0.0297, 0.0010), (0.0258, 0.0002)),
    ("online", "OBB"): ((0.0302, 0.0009), (0.0262, 0.0002)),
    ("online", "Online GuideBoot"): ((0.0317, 0.0004), (0.0270, 0.0002)),
}
BEST = {"replay": "GuideBoot", "online": "Online GuideBoot"}      # in the paper
HEADINGS = {"replay": "Table 3 (Experience Replay)", "online": "Table 4 (Online)",
            "yardstick": "Yardsticks"}
ZERO_STRENGTH = re.compile(r"(epsilon|ucb_strength|dropout|giro_alpha)=0(\.0)?[,)]")
SCORE = "reward (expected CTR of the ads shown)"


def world_of(results):
    """Which ads the runs were on: "A" or "B", and a title."""
    options = dict(re.findall(r"(\w+)=([^,)]+)", results.one["task"]))
    task = options["task"][1]
    title = f"Ads {task} (a stand-in), scale {options['scale']}, {results.steps:,} steps"
    for name, usual in (("drift", "1.0"), ("world", "None"), ("known_ctr", "0.5")):
        if options.get(name, usual) != usual:
            title += f", {name} {options[name]}"
    return task, title


def ads_tables(results):
    """Tables 3 and 4 as the paper has them, its numbers beside ours, and Figure 4.

    "minus": the mean difference on the same seeds +- half-width of its 95 % interval. Runs in
    worlds of their own differ by their worlds too, which is in the std, not in the differences.
    """
    task, title = world_of(results)
    blocks, panels = [], {}
    for setting, heading in HEADINGS.items():
        rows = {row: by_seed for row, by_seed in results.values().items() if row[0] == setting}
        if not rows:
            continue
        theirs = "" if setting == "yardstick" else "; the paper's columns are on Tencent's logs"
        lines = [table_line(results, row, "AB".index(task)) for row in rows]
        minus = f"minus {BEST[setting]}" if setting in BEST else ""
        heads = ["Method", "reward", "std", minus, "paper's", "std", "tuned on", "runs"]
        blocks += [f"{heading}: {title}{theirs}", tables.text_table(heads, lines)]
        idle = [row[1] for row in rows if ZERO_STRENGTH.search(results.known(row, "call"))]
        if idle:
            blocks.append(f"With an exploration strength of 0: {', '.join(idle)}.")
        if setting != "yardstick":
            finals = {row[1]: tables.finite(by_seed) for row, by_seed in rows.items()}
            panels[heading] = {name: list(by_seed.values())
                               for name, by_seed in finals.items() if by_seed}
    drawn = [(heading, names) for heading, names in panels.items() if names]
    figure = charts.box_chart(title, SCORE, drawn) if drawn else None
    return "\n\n".join(blocks), figure


def table_line(results, row, index):
    """A line of Table 3 or 4; index 0 is A's, 1 is B's."""
    by_seed = results.values()[row]
    finals = tables.finite(by_seed)
    values = list(finals.values())
    best = (row[0], BEST.get(row[0]))
    minus = ""
    if row != best and best in results.values():
        difference = tables.paired(finals, tables.finite(results.values()[best]))
        minus = tables.plus_minus(*difference, "+.4f")
    mean = f"{np.mean(values):.4f}" if values else ""
    std = f"({np.std(values, ddof=1):.4f})" if len(values) > 1 else ""
    theirs = ["", ""]
    if row in PAPER:
        theirs = [f"{PAPER[row][index][0]:.4f}", f"({PAPER[row][index][1]:.4f})"]
    return [row[1], mean, std, minus, *theirs, results.known(row, "tuned"),
            tables.runs_text(by_seed)]
