"""The command line of the run scripts: an option is a keyword of the methods that have it."""
import argparse
import functools
import inspect
import os
import sys

from lab import identity, tables
from lab.runs import cores, tuned, tuned_values


class Command(argparse.ArgumentParser):
    """The options that every script has, and one for each of the methods' keywords in `texts`.

    texts       {keyword: what it is, for --help}
    experiment  whose tuned values the methods take, a part of results/tuned.json; or None
    What was typed wrong is one line: the argument, the value, what is allowed. Exit code 2.
    """

    def __init__(self, doc, methods, texts, experiment, runs):
        super().__init__(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
        self.methods, self.experiment, self.keywords = methods, experiment, list(texts)
        names = dict.fromkeys(method_name(row) for row in methods)
        self.add("runs", int, runs, "runs of each method; run i has the seed SEED + i")
        self.add("seed", int, 0, "seed of the first run")
        self.add_argument("--methods", metavar="A,B",
                          help=f"only these, separated by commas; of: {', '.join(names)}")
        self.add("workers", int, cores(), "processes; no result depends on their number")
        self.add_argument("--out", default="out", metavar="DIR",
                          help="folder for runs.jsonl, the table and the figure (default %(default)s)")
        if experiment is not None:
            self.add_argument("--untuned", action="store_true",
                              help="the defaults for all methods, not their tuned values")
        for name, text in texts.items():
            self.add_keyword(name, text)

    def add(self, name, kind, default, text):
        """An option with a number."""
        self.add_argument("--" + name.replace("_", "-"), type=number(kind), default=default,
                          metavar="N" if kind is int else "X", help=f"{text} (default %(default)s)")

    def add_keyword(self, name, text):
        """An option for a keyword of some methods; without it each has its tuned or default value."""
        default = next(found[name].default for method in self.methods.values()
                       if name in (found := parameters(method)))
        found = {row: values["options"][name]
                 for row, values in tuned_values().get(self.experiment, {}).items()
                 if name in values["options"]}
        how = ", ".join(f"{row} {value:g}" for row, value in found.items())
        self.add_argument("--" + name.replace("_", "-"), type=number(type(default)),
                          metavar="N" if type(default) is int else "X",
                          help=f"{text} (default {default}, " + (f"tuned: {how})" if how else "not tuned)"))

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")

    def wanted(self, args):
        """The methods that were asked for: defaults, then tuned values, then what was given."""
        rows = self.methods if args.methods is None else self.named(args.methods)
        if self.experiment is not None and not args.untuned:
            rows = tuned(rows, self.experiment)
        given = {name: getattr(args, name) for name in self.keywords
                 if getattr(args, name) is not None}
        result = {}
        for row, method in rows.items():
            has = parameters(method)
            result[row] = functools.partial(
                method, **{name: value for name, value in given.items() if name in has})
        return result

    def named(self, text):
        """--methods: rows by their method's name; case, blanks and hyphens do not matter."""
        names = list(dict.fromkeys(method_name(row) for row in self.methods))
        asked = {plain(word): word.strip() for word in text.split(",") if plain(word)}
        unknown = [word for key, word in asked.items() if key not in map(plain, names)]
        if unknown or not asked:
            self.error(f"argument --methods: must be some of {', '.join(names)}; "
                       f"got {', '.join(unknown) or repr(text)}")
        return {row: method for row, method in self.methods.items()
                if plain(method_name(row)) in asked}

    def usual(self, args):
        """What compare() needs of the options that every script has."""
        return {name: getattr(args, name) for name in ("runs", "seed", "workers", "out")}


def method_name(row):
    """The method of a row: its name, or the second part of (setting, method)."""
    return row if isinstance(row, str) else row[1]


def parameters(method):
    """The options of a method by name."""
    return inspect.signature(identity.taken_apart(method)[0]).parameters


def plain(name):
    """A name without case, blanks, hyphens, and with epsilon as e."""
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
        main()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:                          # the reader of the output has gone: `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except OSError as error:
        print(f"{error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        code = 1
    sys.exit(code)
