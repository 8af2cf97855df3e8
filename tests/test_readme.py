"""The README agrees with the code and with the committed results."""
import importlib
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import report
import run_ads
import run_synthetic
import shuffle

ROOT = Path(run_synthetic.__file__).parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
MODULES = ("guideboot", "baselines", "envs", "nn", "report", "run_synthetic", "run_ads")


def test_the_stated_number_of_lines_is_right():
    lines = sum(len((ROOT / f"{m}.py").read_text(encoding="utf-8").splitlines()) for m in MODULES)
    assert f"{lines:,} lines of Python" in README


def test_every_function_and_class_that_the_readme_names_exists():
    names = {pair for pair in re.findall(r"`(guideboot|baselines|envs|nn)\.(\w+(?:\.\w+)?)`", README) if pair[1] != "py"}
    assert len(names) > 35
    for module, path in names:
        thing = importlib.import_module(module)
        for part in path.split("."):
            thing = getattr(thing, part)


def test_every_figure_that_the_readme_shows_is_there_and_every_result_is_shown():
    assert set(re.findall(r"\]\((results/[\w/]+\.svg)\)", README)) == {p.relative_to(ROOT).as_posix() for p in (ROOT / "results").glob("**/*.svg")}


def test_no_placeholder_is_left():
    assert not re.findall(r"\b[A-Z]{8,}\b|\b(?:TODO|TBD|FIXME|XXX)\b|@@|\{\{|\?\?", README)


def test_ci_runs_the_readmes_test_command():
    command, = [line.strip() for line in README.splitlines() if line.startswith("    python3 -m venv") and "pytest" in line]
    assert command in (ROOT / ".ci" / "run").read_text().splitlines()


def test_the_inline_script_metadata_names_numpy_alone():
    for name in ("run_synthetic.py", "run_ads.py"):
        head = (ROOT / name).read_text().split("# ///\n")[0]
        assert head.startswith("# /// script\n") and 'requires-python = ">=3.10"' in head and 'dependencies = ["numpy>=1.24"]' in head


COMMANDS = re.findall(r"^    \$ (.*)\n((?:    .*\n|\n(?=    [^$]))*)", README, re.M)


@pytest.mark.parametrize("command, output", COMMANDS, ids=[" ".join(command.split()[1:4]) for command, _ in COMMANDS])
def test_every_command_of_the_reading_path_prints_what_the_readme_shows(command, output, tmp_path):
    """In a copy of the modules. Times may differ, and the number of workers; under another NumPy than the results' own so may digits of runs."""
    for module in MODULES:
        shutil.copy(ROOT / f"{module}.py", tmp_path)
    done = subprocess.run([sys.executable, *shlex.split(command)[1:]], cwd=tmp_path, capture_output=True, text=True)
    assert command.startswith("python ") and done.returncode == 0, done.stderr

    def comparable(text):
        text = re.sub(r"^ *\d+ (s|min)\. ", "", re.sub(r"\d+ workers?", "", text), flags=re.M)
        same = report.read_results(ROOT / "results" / "synthetic.csv")[0]["numpy"] == np.__version__
        return [line.strip() for line in (text if same or "run_" not in command else re.sub(r"[-+]?\d+\.\d+", "", text)).split("\n")]
    assert comparable(done.stdout.rstrip()) == comparable(output.rstrip())


def test_the_reading_path_has_its_commands():
    assert len(COMMANDS) == 9 and sum("guideboot.py" in command for command, _ in COMMANDS) == 3


def shown(capsys, show, *arguments):
    """The tables that a script prints, each a block of lines as the README shows it; not its claims, which have a table of their own."""
    show(*arguments)
    text = capsys.readouterr().out.split("\nClaims of")[0]
    return ["\n".join(f"    {line}" for line in block.splitlines()) + "\n" for block in text.split("\n\n") if "----" in block]


def finals(path, column):
    """{row: {seed: value}} of a result file."""
    _, _, rows = report.read_results(path)
    return {row: {s: v[column] for (name, s), v in rows.items() if name == row} for row in dict.fromkeys(name for name, _ in rows)}


@pytest.mark.parametrize("path", sorted((ROOT / "results").glob("**/synthetic.csv")), ids=lambda path: "/".join(path.parts[-2:]))
def test_the_synthetic_tables_and_figures_are_those_of_the_committed_results(capsys, tmp_path, path):
    """Printed again from the file by the script's own code, every line stands in the README."""
    header, columns, rows = report.read_results(path)
    by_method = {m: {s: v for (name, s), v in rows.items() if name == m} for m in run_synthetic.METHODS}
    table, = shown(capsys, run_synthetic.show, header["options"], tmp_path / "synthetic.csv", by_method)
    assert table.count("\n") == 12 and table in README
    assert (tmp_path / "synthetic.svg").read_text() == path.with_suffix(".svg").read_text()


@pytest.mark.parametrize("path", sorted((ROOT / "results").glob("**/ads_*.csv")), ids=lambda path: "/".join(path.parts[-2:]))
def test_the_ads_tables_and_figures_are_those_of_the_committed_results(capsys, tmp_path, path):
    task, rows = path.stem[-1], finals(path, 0)
    rows = {row: rows[row] for row in run_ads.ORDER if row in rows}
    tables = shown(capsys, run_ads.show, task, run_ads.title(report.read_results(path)[0]["options"]), tmp_path / path.name, rows)
    assert sum(table.count("\n") - 2 for table in tables) == len(rows) and all(table in README for table in tables)
    assert (tmp_path / path.name).with_suffix(".svg").read_text() == path.with_suffix(".svg").read_text()


@pytest.mark.parametrize("path", sorted((ROOT / "results").glob("sweep_*.csv")), ids=lambda path: path.stem)
def test_the_sweeps_tables_and_figures_are_those_of_the_committed_results(capsys, tmp_path, path):
    tables = shown(capsys, redraw_sweep, path, tmp_path / path.name)
    assert len(tables) == 2 and all(table in README for table in tables)
    assert (tmp_path / path.name).with_suffix(".svg").read_text() == path.with_suffix(".svg").read_text()


def test_the_table_and_figure_of_the_shuffle_are_those_of_the_committed_results(capsys, tmp_path):
    path = ROOT / "results" / "shuffle.csv"
    tables = shown(capsys, shuffle.show, report.read_results(path)[0]["options"], tmp_path / path.name, finals(path, 0))
    assert len(tables) == 2 and all(table in README for table in tables)
    assert (tmp_path / "shuffle.svg").read_text() == path.with_suffix(".svg").read_text()


def redraw_sweep(path, to):
    """What a script prints and draws of a sweep, from its result file."""
    o, script = report.read_results(path)[0]["options"], run_ads if "_ads_" in path.stem else run_synthetic
    final = finals(path, 0)
    sweep = next(name for name in script.SWEEPS if re.search(rf"_{name}(_\d+)?$", path.stem))
    rows = list(dict.fromkeys(row.split(" | ")[0] for row in final))
    grid = {row: report.sweep_grid(sweep, script.SWEEPS, script.GRID[row.split(": ")[-1]]) for row in rows}
    if script is run_ads:
        run_ads.show_sweep(o, sweep, to, grid, final)
    else:
        run_synthetic.show_sweep(o, sweep, to, grid, final)


def claim_rows():
    """The README's one table of claims, made from the committed results."""
    def ours(pairs, form):
        least, name, count = report.evidence(pairs, form)
        return least.replace("+-", "\u00b1") + (f" ({name}); {count} above 0" if name else "")
    unclaimed = {"reproduced": "shown", "partly": "partly shown", "not reproduced": "refuted", "not reproduced (undecided)": "undecided"}
    synthetic, density, shuffled = (finals(ROOT / "results" / f"{name}.csv", -2) for name in ("synthetic", "sweep_density", "shuffle"))
    table = run_synthetic.claims({m: synthetic[m] for m in run_synthetic.GRID})
    for m, paper in (("GuideBoot", "guidance helps"), ("Online GuideBoot", "")):           # of the latter the paper does not say it
        others = {kind: density[f"{m} | density {kind}"] for kind in ("none", "unguided")} | ({"Bootstrap": synthetic["Bootstrap"]} if paper else {})
        table.append((f"Q3: {m}'s guided fakes are better than none and than as many unguided ones at its learning rate"
                      + (", and than none at Bootstrap's own" if paper else ""), paper,
                      {name: report.paired(other, density[f"{m} | density harmonic"], share=len(others)) for name, other in others.items()}))
    table.append(("Shuffle-and-split: without fakes, at Online GuideBoot's learning rate, the shuffle lowers the regret without and with Poisson weights",
                  "effectiveness of the shuffle-and-split step",
                  {name: report.paired(*(shuffled[f"{row} | learning_rate 0.01"] for row in rows), share=2)
                   for name, rows in {"without weights": ("neither", "shuffle"), "with weights": ("weights (OBB)", "both")}.items()}))
    for (text, paper, pairs), result in zip(table, report.verdicts(table)):
        quoted, result = (f'"{paper}"', result) if paper else ("not claimed", unclaimed[result])
        yield f"| {text} | {quoted} | {ours(pairs, '+.1f')} | {result} |"
    tables = {task: run_ads.claims(task, {row: v for row, v in finals(path, 0).items() if not row.startswith("yardstick")})
              for task in "AB" if (path := ROOT / "results" / f"ads_{task}.csv").exists()}
    results = {task: report.verdicts(table) for task, table in tables.items()}
    for i, same in enumerate(zip(*tables.values())):
        cells = list(zip(tables, same))
        yield (f"| {same[0][0]} | " + "; ".join(f"{task} {paper}" for task, (_, paper, _) in cells) + " | "
               + "; ".join(f"{task} {ours(pairs, '+.5f')}" for task, (_, _, pairs) in cells) + " | "
               + "; ".join(f"{task} {results[task][i]}" for task in tables) + " |")
    density = finals(ROOT / "results" / "sweep_ads_A_density.csv", 0)
    for row in ("replay: GuideBoot", "online: Online GuideBoot"):
        pairs = {kind: report.paired(density[f"{row} | density count"], density[f"{row} | density {kind}"], share=2) for kind in ("none", "unguided")}
        yield (f"| Q3 on Ads A (scale 0.02): {row.split(': ')[1]}'s guided fakes are better than none and than as many unguided ones at its learning rate | "
               f"no such experiment | {ours(pairs, '+.5f')} | {unclaimed[report.verdict(pairs)]} |")
    rows, (text, named) = finals(ROOT / "results" / "no_drift" / "ads_A.csv", 0), next(claim for claim in run_ads.CLAIMS if "online than with replay" in claim[0])
    pairs = {name: report.paired(rows[a], rows[b], share=len(named)) for name, (a, b) in named.items()}
    yield f"| {text}, without drift too (A, scale 0.05) | no such experiment | {ours(pairs, '+.5f')} | {unclaimed[report.verdict(pairs)]} |"


def test_the_table_of_claims_is_that_of_the_committed_results():
    rows = list(claim_rows())
    assert len(rows) == len(run_synthetic.CLAIMS) + 3 + 3 + len(run_ads.CLAIMS) + 1
    assert "|---|---|---|---|\n" + "\n".join(rows) + "\n" in README


@pytest.mark.parametrize("path", sorted((ROOT / "results").glob("**/*.csv")), ids=lambda path: "/".join(path.parts[-2:]))
def test_committed_results_are_of_this_code_and_of_the_tuned_values(path):
    """The command that made a file would go on with it, not move it aside."""
    header, _, _ = report.read_results(path)
    script = run_ads if "ads_" in path.stem else run_synthetic
    assert header["options"]["tuned"] == ({} if path.parent.name == "untuned" or path.stem.startswith(("tune_", "shuffle")) else script.TUNED)
    if header["python"].split(".")[:2] == [str(v) for v in sys.version_info[:2]]:
        code = [ROOT / f"{m}.py" for m in ("guideboot", "baselines", "envs", "nn", script.__name__)]
        assert header["code"] == report.fingerprint(*(shuffle.CODE if path.stem == "shuffle" else code))


@pytest.mark.parametrize("name, script, seeds, count, column, best, world", [
    ("tune_synthetic", run_synthetic, range(1000, 1012), 20, -2, min, None), ("tune_ads_A", run_ads, range(1000, 1001), 9, 0, max, 1000)])
def test_the_tuned_values_are_the_best_of_the_committed_tuning(name, script, seeds, count, column, best, world):
    """As many configurations for every method, all on the same seeds, which no other committed file has."""
    header, _, rows = report.read_results(ROOT / "results" / f"{name}.csv")
    assert header["options"].get("world") == world and header["options"].get("scale", 0.05) == 0.05
    assert len(rows) == len(script.TUNED) * count * len(seeds)
    for row, chosen in script.TUNED.items():
        tried = {key: np.mean([rows[key, seed][column] for seed in seeds]) for key, _ in rows if key.startswith(row + " | ")}
        found = best(tried, key=tried.get)
        assert set(tried) == {report.label(row, c) for c in report.product(script.GRID[row.split(": ")[-1]])} and len(tried) == count
        assert dict(part.rsplit(" ", 1) for part in found.split(" | ")[1:]) == {k: str(v) for k, v in chosen.items()}
    for path in (ROOT / "results").glob("**/*.csv"):
        assert path.stem.startswith("tune_") or not {seed for _, seed in report.read_results(path)[2]} & set(seeds)


@pytest.mark.parametrize("file, script, row, seed", [
    ("synthetic", run_synthetic, "Random", 107), ("synthetic", run_synthetic, "OBB", 103), ("synthetic", run_synthetic, "GLM-UCB", 199),
    *(("shuffle", shuffle, f"{name} | learning_rate 0.01", 100 + i) for i, name in enumerate(shuffle.VARIANTS))])
def test_cells_of_the_committed_tables_come_out_again(file, script, row, seed):
    """From scratch, at the recorded options and seed. Another NumPy may round a near-tie another way: then only Random's,
    which compares no scores, must agree."""
    header, _, rows = report.read_results(ROOT / "results" / f"{file}.csv")
    if header["numpy"] != np.__version__ and "Random" not in row:
        pytest.skip(f"the committed results are from NumPy {header['numpy']}")
    method, *values = row.split(" | ")
    options = dict(header["options"], method=method, **{name: float(value) for name, value in (value.split(" ") for value in values)})
    np.testing.assert_allclose(script.run((row, seed, options)), rows[row, seed], rtol=1e-6)


def test_the_files_of_results_agree_where_they_hold_the_same_runs():
    """Without fakes Online GuideBoot is the shuffle alone, and GuideBoot's row of a sweep at its tuned values is that of the table."""
    shuffled, density, synthetic = (report.read_results(ROOT / "results" / f"{name}.csv")[2] for name in ("shuffle", "sweep_density", "synthetic"))
    assert run_synthetic.TUNED["Online GuideBoot"]["learning_rate"] == 0.01
    for seed in range(100, 150):
        assert shuffled["shuffle | learning_rate 0.01", seed][0] == density["Online GuideBoot | density none", seed][0]
        for m in ("GuideBoot", "Online GuideBoot"):
            assert density[f"{m} | density harmonic", seed][0] == synthetic[m, seed][-2]
