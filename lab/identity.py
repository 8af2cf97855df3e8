"""What a run is: the text of its method and task with all their options, and the hash of their code.

Equal texts and equal code mean equal numbers (on one kind of processor), so the runs are stored
under a hash of both. The code is that of the modules which define method and task and of all that
these import, without comments, docstrings and layout. Left out are the standard library, installed
packages and this folder, which has the number FORMAT instead: raise it by hand when a change in
here changes the numbers of a run. Modules count by their name and content, never by their path, and
a script has the name that it has when it is imported, so a script, the study and a notebook agree.
"""
import ast
import functools
import hashlib
import importlib
import importlib.util
import inspect
import sys
import sysconfig
import types
from pathlib import Path

import numpy as np

FORMAT = 1
NO_CLOSURE = ("a lambda or a function within a function may hold values that no hash sees: write a "
              "function at the top level of a file, and give it its values by functools.partial")
OPTIONS = ("a number, a word, True, False, None, a tuple of these, a function or class of a module, "
           "a functools.partial of one, or a pathlib.Path")


class Refused(ValueError):
    """Something that cannot be run or stored; the text is one line for the user."""


def checksum(data):
    """Twelve hexadecimal digits of text or bytes."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()[:12]


# ---------------------------------------------------------------- the text of a call

def describe(value):
    """The text of an option; equal texts, equal meaning."""
    if isinstance(value, (bool, type(None))):
        return repr(value)
    if isinstance(value, (int, np.integer)):
        return repr(int(value))
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, str):
        return repr(str(value))
    if isinstance(value, tuple):
        return "(" + "".join(f"{describe(part)}, " for part in value) + ")"
    if isinstance(value, Path):
        return f"Path({value.name!r}, {content(value)})"
    if isinstance(value, functools.partial):
        return describe_call(value)
    if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType)):
        return name_of(value)
    raise Refused(f"an option must be {OPTIONS}, got {value!r}")


def content(path):
    """What a file counts by."""
    try:
        return checksum(path.read_bytes())
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}") from None


def describe_call(thing, given=()):
    """`module.name(option=value, ...)` of a function, a class or a partial of one, with its defaults.

    The first parameters, `given`, are left out: they are what compare() itself hands over.
    """
    function, options = taken_apart(thing)
    parameters = list(inspect.signature(function).parameters.values())
    for parameter in parameters[len(given):]:
        if parameter.default is not parameter.empty:
            options.setdefault(parameter.name, parameter.default)
    known = [parameter.name for parameter in parameters[len(given):]]
    anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    for name in options:
        if name not in known and not anything:
            raise Refused(f"{function.__name__} has no option {name!r}; "
                          f"it has {', '.join(known) or 'none'}")
    text = ", ".join(f"{name}={describe(options[name])}" for name in sorted(options))
    return f"{name_of(function)}({text})"


def taken_apart(thing):
    """The function or class of a method or task, and the options that partials give it."""
    options = {}
    while isinstance(thing, functools.partial):
        if thing.args:
            raise Refused(f"give options by name: functools.partial with {thing.args!r} does not")
        options = {**thing.keywords, **options}
        thing = thing.func
    if not isinstance(thing, (type, types.FunctionType)):
        raise Refused(f"a method or task must be a function or a class, got {thing!r}")
    return thing, options


def name_of(function):
    """The name under which any process finds this function or class: module.name."""
    if "<" in function.__qualname__:                 # <lambda> or <locals>
        raise Refused(f"{function.__qualname__}: {NO_CLOSURE}")
    return f"{module_name(function.__module__)}.{function.__qualname__}"


def module_name(name):
    """A script that is run has the name that it has when it is imported."""
    if name not in ("__main__", "__mp_main__"):
        return name
    module = sys.modules["__main__"]
    if getattr(module, "__spec__", None) is not None:            # python -m package.module
        return module.__spec__.name
    return Path(getattr(module, "__file__", "typed")).stem


def typed(thing):
    """Is some function of it typed in at a prompt or in a notebook, so that no file holds its code?"""
    return any(function.__module__ == "__main__" and not hasattr(sys.modules["__main__"], "__file__")
               for function in functions_in(thing))


def functions_in(value):
    """All functions and classes that a method, a task or an option consists of."""
    if isinstance(value, functools.partial):
        parts = [value.func, *value.args, *value.keywords.values()]
    elif isinstance(value, tuple):
        parts = value
    elif isinstance(value, (type, types.FunctionType)):
        return [value]
    else:
        return []
    return [function for part in parts for function in functions_in(part)]


# ---------------------------------------------------------------- the code behind it

def modules_behind(*things):
    """{module: hash} of the modules that define these functions and of all of ours they import."""
    functions = [function for thing in things for function in functions_in(thing)]
    todo = [function.__module__ for function in functions]
    for function in functions:                       # defaults may be functions of other modules
        for parameter in inspect.signature(function).parameters.values():
            todo += [part.__module__ for part in functions_in(parameter.default)]
    found = {}
    while todo:
        module = todo.pop()
        path = own_file(module)
        if path is None or module_name(module) in found:
            continue
        tree = ast.parse(path.read_bytes())
        found[module_name(module)] = checksum(code_text(tree))
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        todo += [name for name in imported(tree, package) if name.split(".")[0] != "lab"]
    return dict(sorted(found.items()))


def own_file(module):
    """The file of a module, or None if it is not ours: built in, of the standard library, installed."""
    try:
        path = (getattr(sys.modules[module], "__file__", None) if module in sys.modules
                else importlib.util.find_spec(module).origin)
    except (AttributeError, ImportError, ValueError):
        return None
    if path is None or not path.endswith(".py"):
        return None
    path = Path(path).resolve()
    library = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]
    if {"site-packages", "dist-packages"} & set(path.parts) or set(library) & set(path.parents):
        return None
    return path


def imported(tree, package):
    """The names of all that a module imports, wherever in it; of a package also the modules taken."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
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
    parts = [f"{name}={code_text(value)}" for name, value in fields.items()
             if value is not None and value != [] and name not in ("ctx", "kind", "type_comment")]
    return f"{type(node).__name__}({','.join(parts)})"


_verified = {}        # {module: hash} of what this process has imported and found to be as asked for


def verify(modules):
    """Refuse to run if this process has other code than these {module: hash} of the asking one.

    A module is looked at once: what is imported stays, whatever becomes of its file.
    """
    for name, expected in modules.items():
        if name not in _verified:
            path = file_of_imported(name)
            if path is None:                         # the asking script, whose functions were sent
                continue
            _verified[name] = checksum(code_text(ast.parse(path.read_bytes())))
        if _verified[name] != expected:
            raise Refused(f"{name}.py was edited after this process had imported it, "
                          "or after the runs were asked for: start the command again")


def file_of_imported(name):
    """The file of a module that is imported here, now if not yet."""
    if name == module_name("__main__"):
        return own_file("__main__")
    try:
        importlib.import_module(name)
    except ImportError:
        return None
    return own_file(name)
