"""The command line, `sardonyx VERB model …`: dispatch to the modules in `verbs`, one per verb.

Exit codes: 0 success, 1 the model or its data are invalid, 2 usage error, 3 differences that break callers
(`diff`), 130 interrupted.
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

from sardonyx._src.cli.output import streams
from sardonyx._src.errors import InputError, SardonyxError

VERBS_FOLDER = Path(__file__).parent / "verbs"
VERBS_PACKAGE = f"{__name__.rpartition('.')[0]}.verbs"
EXIT_OK, EXIT_FINDINGS, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130


class Verb(Protocol):
    """A module in `verbs`: the summary of a verb, its arguments, and its implementation."""

    HELP: str

    def arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def verb_names() -> Iterator[str]:
    """The verbs as typed on the command line: `set-dims` is `set_dims.py`."""
    return (module.name.replace("_", "-") for module in pkgutil.iter_modules([str(VERBS_FOLDER)]))


def module_name(name: str) -> str:
    return name.replace("-", "_")


def load_verb(name: str) -> Verb:
    return cast(Verb, importlib.import_module(f"{VERBS_PACKAGE}.{module_name(name)}"))


def help_of(name: str) -> str:
    """The summary of a verb, parsed from its source: importing all verbs to list them takes too long."""
    for statement in ast.parse((VERBS_FOLDER / f"{module_name(name)}.py").read_text("utf-8")).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="HELP")], value=ast.Constant(value=str(text))):
                return text
    raise AssertionError(f"the verb {name} must define HELP")


def parser(chosen: str | None) -> argparse.ArgumentParser:
    """The argument parser; imports only the chosen verb."""
    top = argparse.ArgumentParser(prog="sardonyx", description="Read, inspect and run ONNX models.")
    top.add_argument("--version", action="store_true", help="print the version and exit")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    if chosen is None:
        for name in verb_names():
            verbs.add_parser(name, help=help_of(name))
        return top
    module = load_verb(chosen)
    verb_parser = verbs.add_parser(chosen, description=module.__doc__, allow_abbrev=False)
    verb_parser.formatter_class = argparse.RawDescriptionHelpFormatter
    module.arguments(verb_parser)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    chosen = words[0] if words and words[0] in verb_names() else None
    try:
        args = parser(chosen).parse_args(words)
    except SystemExit as done:  # argparse has printed the reason
        return EXIT_USAGE if done.code else EXIT_OK
    if args.version:
        return version()
    if args.verb is None:
        parser(None).print_help()
        return EXIT_USAGE
    return run_verb(load_verb(args.verb), args)


def version() -> int:
    from importlib.metadata import version as installed

    sys.stdout.write(f"sardonyx {installed('sardonyx')}\n")
    return EXIT_OK


def run_verb(module: Verb, args: argparse.Namespace) -> int:
    """Runs a verb; an error is reported as one line on standard error."""
    try:
        code = module.run(args)
        sys.stdout.flush()
    except InputError as error:
        return report_error(str(error), EXIT_USAGE)
    except SardonyxError as error:
        return report_error(prefix_model_path(error, args), EXIT_FINDINGS)
    except MemoryError:
        return report_error("out of memory", EXIT_FINDINGS)
    except BrokenPipeError:  # the reader closed the pipe, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except OSError as error:
        return report_error(
            f"{error.filename}: {error.strerror}" if error.filename else str(error), EXIT_USAGE
        )
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return code


def prefix_model_path(error: SardonyxError, args: argparse.Namespace) -> str:
    """The error message, prefixed with the path of the model unless it starts with it."""
    text, model = str(error), getattr(args, "model", None)
    return text if not isinstance(model, str) or text.startswith(model) else f"{model}: {text}"


def report_error(text: str, code: int) -> int:
    sys.stderr.write(f"sardonyx: {streams.printable(text)}\n")
    return code


def entry() -> None:
    """Entry point of the installed command."""
    streams.prepare()
    sys.exit(main())
