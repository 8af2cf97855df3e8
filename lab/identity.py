"""What a run is: the text of its method and task with all options, and the hash of their code.

Equal texts and equal code mean equal numbers (on one kind of processor), so a run is stored under a
hash of both. The code is that of the modules which define method and task and of all that these
import, without comments, docstrings and layout. The standard library and installed packages do not
count. Nor does what is imported from this folder, for which the number FORMAT stands: raise it by
hand when a change in here changes the numbers of a run. Modules count by name and content, never by
path, and a script that is run has the name that it has when imported, so that a script, the study
and a notebook agree.
"""
import ast
import functools
import hashlib
import importlib
import importlib.machinery
import importlib.util
import inspect
import sys
import sysconfig
import types
from pathlib import Path

import numpy as np

FORMAT = 1
NO_CLOSURE = ("a lambda or a function within a function may hold values that no hash sees: write a "
              "function at the top level of a file and give it its values by functools.partial")
ALLOWED = ("a number, a word, True, False, None, a tuple of these, a function or class of a "
           "module, a functools.partial of one, or a pathlib.Path")


class Refused(ValueError):
    """Something that cannot be run or stored; the text is one line for the user."""


def checksum(data):
    """Twelve hexadecimal digits of text or bytes."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()[:12]


# ---------------------------------------------------------------- the text of a call

HANDED = ("env", "steps", "seed")      # what compare() itself hands to a method


def complete(thing, handed=()):
    """A function, a class or a partial of one as a partial with all its options, defaults too.

    The first parameters, `handed`, are not options: compare() itself hands them over.
    """
    options = {}
    while isinstance(thing, functools.partial):
        if thing.args:
            raise Refused(f"give options by name: functools.partial with {thing.args!r} does not")
        options = {**thing.keywords, **options}
        thing = thing.func
    if not isinstance(thing, (type, types.FunctionType)):
        raise Refused(f"a method or task must be a function or a class, got {thing!r}")
    parameters = list(inspect.signature(thing).parameters.values())[len(handed):]
    for parameter in parameters:
        if parameter.default is not parameter.empty:
            value = options.setdefault(parameter.name, parameter.default)
            if type(parameter.default) is float and type(value) is int:
                options[parameter.name] = float(value)           # partial(..., alpha=3)
    names = [parameter.name for parameter in parameters]
    for name in options:
        if name not in names and not any(p.kind is p.VAR_KEYWORD for p in parameters):
            raise Refused(f"{thing.__name__} has no option {name!r}; "
                          f"it has {', '.join(names) or 'none'}")
    return functools.partial(thing, **{name: plain(value) for name, value in options.items()})


def plain(value):
    """A number of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def describe(value):
    """The text of an option, a method or a task; equal texts, equal meaning."""
    value = plain(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, tuple):
        return "(" + "".join(f"{describe(part)}, " for part in value) + ")"
    if isinstance(value, Path):
        return f"Path({value.name!r}, {content(value)})"
    if isinstance(value, functools.partial):
        options = [f"{name}={describe(option)}" for name, option in sorted(value.keywords.items())]
        return f"{name_of(value.func)}({', '.join(options)})"
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        return name_of(value)
    raise Refused(f"an option must be {ALLOWED}, got {value!r}")


def content(path):
    """The hash of a file."""
    try:
        return checksum(path.read_bytes())
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}") from None


def name_of(function):
    """The name under which any process finds this function or class: module.name."""
    if "<" in function.__qualname__:                 # <lambda> or <locals>
        raise Refused(f"{function.__qualname__}: {NO_CLOSURE}")
    return f"{module_name(function.__module__)}.{function.__qualname__}"


def module_name(name):
    """A script that is run has the name that it has when it is imported."""
    if name not in ("__main__", "__mp_main__"):
        return name
    main = sys.modules["__main__"]
    if getattr(main, "__spec__", None) is not None:  # python -m package.module
        return main.__spec__.name
    return Path(getattr(main, "__file__", "typed")).resolve().stem


def parts_of(value, kind):
    """All functions, classes or paths (the `kind`) that a method, task or option consists of."""
    if isinstance(value, functools.partial):
        within = [value.func, *value.keywords.values()]
    else:
        within = value if isinstance(value, tuple) else []
    own = [value] if isinstance(value, kind) else []
    return own + [part for inner in within for part in parts_of(inner, kind)]


def functions_of(value):
    return parts_of(value, (type, types.FunctionType))


def typed(value):
    """Is some function of it typed in at a prompt or in a notebook, so that no file holds it?"""
    main = sys.modules["__main__"]
    return not hasattr(main, "__file__") and any(function.__module__ == "__main__"
                                                 for function in functions_of(value))


# ---------------------------------------------------------------- the code behind it

def modules_behind(*things):
    """{module: hash} of the modules that define these functions and of all of ours they import."""
    todo = [function.__module__ for thing in things for function in functions_of(thing)]
    found = {}
    while todo:
        module = todo.pop()
        path = own_file(module)
        if path is None or module_name(module) in found:
            continue
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        found[module_name(module)], imports = code_of(path, package, path.stat().st_mtime_ns)
        todo += [name for name in imports if name.split(".")[0] != "lab"]
    return dict(sorted(found.items()))


@functools.lru_cache(maxsize=None)
def code_of(path, package, changed):
    """The hash of a file's code, and the names that it imports; `changed` is when it was edited."""
    try:
        tree = ast.parse(path.read_bytes())
    except SyntaxError as error:
        raise Refused(f"{path.name}, line {error.lineno}: {error.msg}") from None
    return checksum(code_text(tree)), tuple(imported(tree, package))


def own_file(module):
    """The file of a module, or None if it is built in, of the standard library, or installed."""
    try:
        if module in sys.modules:
            path = sys.modules[module].__file__
        else:
            path = importlib.util.find_spec(module).origin
    except (AttributeError, ImportError, ValueError):
        return None
    if path is None or not path.endswith(".py"):
        return None
    path = Path(path).resolve()
    library = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")}
    if {"site-packages", "dist-packages"} & set(path.parts) or library & set(path.parents):
        return None
    return path


def imported(tree, package):
    """The names of all that a module imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")        # a.b imports a, too
                yield from (".".join(parts[:i + 1]) for i in range(len(parts)))
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[:len(package.split(".")) - node.level + 1]
                base = ".".join(above + ([base] if base else []))
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def code_text(node):
    """A syntax tree as text, without docstrings; the same text in every version of Python."""
    if isinstance(node, list):
        return "[" + ",".join(code_text(part) for part in node) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = node.body[1:]
    if isinstance(node, ast.JoinedStr):              # some versions have empty pieces in f-strings
        fields["values"] = [part for part in node.values if getattr(part, "value", None) != ""]
    texts = [f"{name}={code_text(value)}" for name, value in fields.items()
             if value is not None and value != [] and name not in ("ctx", "kind", "type_comment")]
    return f"{type(node).__name__}({','.join(texts)})"


# ---------------------------------------------------------------- is it still that code?

_imported = {}        # {module: hash} of what this process has imported


def verify(modules, files):
    """Refuse to run if this process has other code than {module: hash}, or a data file has changed.

    A module is looked at once: what is imported stays, whatever becomes of its file.
    """
    for name, expected in modules.items():
        if name not in _imported:
            module = "__main__" if name == module_name("__main__") else name
            try:
                importlib.import_module(module)
            except ImportError:                      # the asking script, whose functions were sent
                continue
            path = own_file(module)
            if path is None:
                continue
            current = is_current(sys.modules[module], path)
            _imported[name] = code_of(path, "", path.stat().st_mtime_ns)[0] if current else None
        if _imported[name] != expected:
            raise Refused(f"{name}.py was edited after it was imported or after the runs were "
                          "asked for: start Python, and workers of your own, again")
    for path, expected in files.items():
        if content(Path(path)) != expected:
            raise Refused(f"{path} was changed after the runs were asked for")


def is_current(module, path):
    """Are functions and CONSTANTS of a module those of its file, or was it edited after the import?

    A module that was not loaded in the usual way (by a test runner) cannot be compared.
    """
    if type(module.__loader__) is not importlib.machinery.SourceFileLoader:
        return True
    for name, value in constants(path):
        if repr(vars(module).get(name)) != repr(value):
            return False
    in_file = {essence(code) for code in codes(compile(path.read_bytes(), str(path), "exec"))}
    for value in vars(module).values():
        for function in (value, *(vars(value).values() if isinstance(value, type) else ())):
            code = getattr(function, "__code__", None)
            if code is not None and Path(code.co_filename).resolve() == path:
                if essence(code) not in in_file:
                    return False
    return True


def constants(path):
    """(name, value) of the lines NAME = number, word or tuple of a module."""
    for node in ast.parse(path.read_bytes()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "").isupper():
            try:
                yield node.targets[0].id, ast.literal_eval(node.value)
            except ValueError:                       # something that is computed
                pass


def codes(code):
    """A code object and all that are within it."""
    within = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return [code, *(inner for part in within for inner in codes(part))]


def essence(code):
    """What a function does: without its line numbers and docstring, which is its first constant."""
    constants = [repr(part) for part in code.co_consts[1:] if not isinstance(part, types.CodeType)]
    return code.co_name, code.co_code, code.co_names, code.co_varnames, tuple(constants)
