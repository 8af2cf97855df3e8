"""The command line of the run scripts: an option is a keyword of the methods that have it."""
import argparse
import functools
import inspect
import os
import sys

from lab.identity import Refused
from lab.processes import cores
from lab.runs import compare, tuned, tuned_values
from lab.tables import parts

VERDICTS = "Which of the paper's claims hold, by many runs of tuned methods: results/README.md"


class Command(argparse.ArgumentParser):
    """The options that every script has, and one for each of the methods' keywords in `texts`.

    texts       {keyword: what it is, for --help}
    experiment  whose tuned values the methods take, a part of results/tuned.json; or None
    What was typed wrong is one line: the argument, the value, what is allowed. Exit code 2.
    """

    def __init__(self, doc, methods, texts, experiment, runs):
        super().__init__(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter,
                         allow_abbrev=False)
        self.methods, self.experiment, self.keywords = methods, experiment, list(texts)
        names = dict.fromkeys(parts(row)[-1] for row in methods)
        self.add("runs", int, runs, "runs of each method; run i has the seed SEED + i")
        self.add("seed", int, 0, "seed of the first run")
        self.add_argument("--methods", metavar="A,B", help="only these, separated by commas "
                          f"(default: all, which are {', '.join(names)})")
        self.add("workers", int, cores(), "worker processes; results do not depend on their number")
        self.add_argument("--out", default="out", metavar="DIR", help="folder for runs.jsonl, the "
                          "CSV and the figure (default %(default)s)")
        if experiment is not None:
            self.add_argument("--untuned", action="store_true", help="give every method its "
                              "defaults, the paper's values or ours, instead of its tuned values")
        for name, text in texts.items():
            self.add_keyword(name, text)

    def add(self, name, kind, default, text):
        """An option with a number."""
        self.add_argument("--" + name.replace("_", "-"), type=number(kind), default=default,
                          metavar="N" if kind is int else "X", help=f"{text} (default %(default)s)")

    def add_keyword(self, name, text):
        """An option for a keyword; without it every method has its tuned or its default value."""
        default = next(parameters(method)[name].default for method in self.methods.values()
                       if name in parameters(method))
        found = tuned_values().get(self.experiment, {})
        values = [f"{row} {options['options'][name]:g}" for row, options in found.items()
                  if name in options["options"]]
        how = f"default: as tuned, {'; '.join(values)}; untuned {default}" if values else \
            f"default {default}, not tuned"
        self.add_argument("--" + name.replace("_", "-"), type=number(type(default)),
                          metavar="N" if type(default) is int else "X", help=f"{text} ({how})")

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")

    def wanted(self, args):
        """The methods that were asked for: defaults, then tuned values, then what was given."""
        methods = self.methods if args.methods is None else self.some(args.methods)
        if self.experiment is not None and not args.untuned:
            methods = tuned(methods, self.experiment)
        given = {name: getattr(args, name) for name in self.keywords
                 if getattr(args, name) is not None}
        for name in given:
            if not any(name in parameters(method) for method in methods.values()):
                option = name.replace("_", "-")
                self.error(f"argument --{option}: none of the chosen methods has it")
        wanted = {}
        for row, method in methods.items():
            own = {name: value for name, value in given.items() if name in parameters(method)}
            wanted[row] = functools.partial(method, **own)
        return wanted

    def some(self, text):
        """--methods: rows by their method's name; case, blanks and hyphens do not matter."""
        names = list(dict.fromkeys(parts(row)[-1] for row in self.methods))
        asked = {bare(word): word.strip() for word in text.split(",") if bare(word)}
        unknown = [word for key, word in asked.items() if key not in map(bare, names)]
        if unknown or not asked:
            self.error(f"argument --methods: must be some of {', '.join(names)}; "
                       f"got {', '.join(unknown) or repr(text)}")
        return {row: method for row, method in self.methods.items()
                if bare(parts(row)[-1]) in asked}

    def run(self, args, methods, task, steps, name, **more):
        """Run the command; see lab.compare."""
        compare(methods, task, steps, args.runs, args.seed, args.out, name, args.workers, **more)
        if self.experiment is not None:
            print(VERDICTS)


def parameters(method):
    """All parameters of a method by name, its options among them."""
    return inspect.signature(method).parameters


def bare(name):
    """A name without case, blanks and hyphens, and with epsilon as e."""
    name = name.lower().replace("epsilon", "e").replace("\u03b5", "e")
    return "".join(letter for letter in name if letter.isalnum())


def number(kind):
    """The type of an option: int or float, with a message that says what is allowed."""
    def parse(text):
        try:
            return kind(text)
        except ValueError:
            allowed = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"must be {allowed}, got {text!r}") from None
    return parse


def call(main):
    """Run a script's main and exit; what the system refuses is told in one line."""
    code = 0
    try:
        if sys.stdout is not None:                   # closed: `>&-`
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            main()
        finally:                                     # --help and errors exit, too
            print(end="", flush=True)
    except KeyboardInterrupt:
        code = 130
    except Refused as error:
        code = 2
        print(f"{os.path.basename(sys.argv[0])}: {error}", file=sys.stderr)
    except OSError as error:
        code = 1
        if error.filename is None:                   # the output takes no more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):   # which is `| head`
            print(f"{error.filename or 'output'}: {error.strerror}", file=sys.stderr)
    sys.exit(code)
