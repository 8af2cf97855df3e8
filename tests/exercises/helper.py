"""What the exercises share. Imported first, it finds the modules in the project's folder."""
import os
import sys
from numbers import Real
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                 "VECLIB_MAXIMUM_THREADS"):
    os.environ[variable] = "1"
sys.path.append(str(Path(__file__).resolve().parents[2]))


def main(check, measure=None):
    """Print "solved" or a hint; with the word `measure`, what there is to measure."""
    if measure is not None and sys.argv[1:] == ["measure"]:
        measure()
        return
    if sys.argv[1:]:
        print("an exercise takes no words" + (" but `measure`" if measure else ""), file=sys.stderr)
        sys.exit(2)
    try:
        check()
    except (AssertionError, NotImplementedError) as hint:
        print(hint)
        sys.exit(1)
    print("solved")


def expect_number(name, value, exact, within, hint):
    assert value is not None, f"write down a guess for {name} first, before you run anything"
    assert isinstance(value, Real), f"{name} must be a number, not {value!r}"
    assert abs(value - exact) <= within, f"{name} is not {value}: {hint}"


def expect_word(name, value, exact, words, hint):
    assert value is not None, f"write down a guess for {name} first, before you run anything"
    assert value in words, f"{name} must be one of {', '.join(words)}, not {value!r}"
    assert value == exact, f"{name} is not {value!r}: {hint}"


def expect_sign(name, value, difference, words, hint):
    """Of three words the first is for 0, the second for above, the third for below."""
    expect_word(name, value, words[int(difference > 0) - int(difference < 0)], words, hint)
