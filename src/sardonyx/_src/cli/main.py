"""The command line: `sardonyx VERB model …`, one file a verb.

Exit codes: 0 all is well, 1 the model or its data are at fault, 2 the command was used wrongly.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, cast

from sardonyx._src.cli import streams
from sardonyx._src.errors import InputError, SardonyxError

FOLDER = Path(__file__).parent / "verbs"
PACKAGE = f"{__name__.rpartition('.')[0]}.verbs"
FINE, FINDINGS, WRONG_USE, INTERRUPTED = 0, 1, 2, 130


class Verb(Protocol):
    """A module in `verbs`: what a verb is for, its arguments, and what it does."""

    HELP: str

    def arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def names() -> Iterator[str]:
    """The verbs, as they are typed: `set-dims` is `set_dims.py`."""
    return (module.name.replace("_", "-") for module in pkgutil.iter_modules([str(FOLDER)]))


def file_of(name: str) -> str:
    return name.replace("-", "_")


def verb(name: str) -> Verb:
    return cast(Verb, importlib.import_module(f"{PACKAGE}.{file_of(name)}"))


def help_of(name: str) -> str:
    """What a verb is for, read from its source: loading all verbs for a list of them takes too long."""
    for statement in ast.parse((FOLDER / f"{file_of(name)}.py").read_text("utf-8")).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="HELP")], value=ast.Constant(value=str(text))):
                return text
    raise AssertionError(f"the verb {name} has no HELP")


def parser(chosen: str | None) -> argparse.ArgumentParser:
    """The parser of the command line; only the chosen verb is loaded."""
    top = argparse.ArgumentParser(prog="sardonyx", description="Read, inspect and run ONNX models.")
    top.add_argument("--version", action="store_true", help="print the version and leave")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    if chosen is None:
        for name in names():
            verbs.add_parser(name, help=help_of(name))
        return top
    module = verb(chosen)
    one = verbs.add_parser(chosen, description=module.__doc__, allow_abbrev=False)
    one.formatter_class = argparse.RawDescriptionHelpFormatter
    module.arguments(one)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line; returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    chosen = words[0] if words and words[0] in names() else None
    try:
        args = parser(chosen).parse_args(words)
    except SystemExit as done:  # argparse has said why
        return WRONG_USE if done.code else FINE
    if args.version:
        return version()
    if args.verb is None:
        parser(None).print_help()
        return WRONG_USE
    return guarded(verb(args.verb), args)


def version() -> int:
    from importlib.metadata import version as installed

    sys.stdout.write(f"sardonyx {installed('sardonyx')}\n")
    return FINE


def guarded(module: Verb, args: argparse.Namespace) -> int:
    """Runs a verb; what goes wrong is one line on the error stream."""
    try:
        code = module.run(args)
        sys.stdout.flush()
    except InputError as error:
        return complain(str(error), WRONG_USE)
    except SardonyxError as error:
        return complain(located(error, args), FINDINGS)
    except MemoryError:
        return complain("out of memory", FINDINGS)
    except BrokenPipeError:  # the reader has seen enough, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except OSError as error:
        return complain(f"{error.filename}: {error.strerror}" if error.filename else str(error), WRONG_USE)
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def located(error: SardonyxError, args: argparse.Namespace) -> str:
    """The error with the model's file before it, where it does not begin with that itself."""
    text, model = str(error), getattr(args, "model", None)
    return text if not isinstance(model, str) or text.startswith(model) else f"{model}: {text}"


def complain(text: str, code: int) -> int:
    sys.stderr.write(f"sardonyx: {streams.printable(text)}\n")
    return code


def entry() -> None:
    """What the installed command calls."""
    streams.prepare()
    sys.exit(main())
