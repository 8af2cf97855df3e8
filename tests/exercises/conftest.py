"""For students: which exercises are solved, and a hint for each that is not."""
HINTS = {}                             # exercise -> what its check or its error says


def pytest_exception_interact(call, report):
    error = call.excinfo.value
    said = str(error).strip().splitlines() or [""]
    name = report.nodeid.split("::")[0]
    lines = [entry.lineno + 1 for entry in call.excinfo.traceback if str(entry.path).endswith(name)]
    if isinstance(error, (AssertionError, NotImplementedError)):
        HINTS[name] = said[0]
    elif lines:                                              # an error in the student's own code
        HINTS[name] = f"line {lines[-1]}: {type(error).__name__}: {said[0]}"
    else:                                                    # a file that Python cannot read
        HINTS[name] = said[-1].removeprefix("E").strip()


def pytest_terminal_summary(terminalreporter):
    passed = [report.nodeid for report in terminalreporter.stats.get("passed", [])]
    solved = [nodeid.split("::")[0] for nodeid in passed if nodeid.endswith("::check")]
    outcomes = {**HINTS, **dict.fromkeys(solved, "solved")}
    for name, said in sorted(outcomes.items()):
        name = name.removesuffix(".py").removeprefix("ex").replace("_", " ")
        terminalreporter.write_line(f"{name:16} {said}")
    if outcomes:
        terminalreporter.write_line(f"\n{len(solved)} of {len(outcomes)} solved")
