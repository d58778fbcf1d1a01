"""The command line, `sardonyx VERB model …`: dispatch to the modules in `verbs`, one per verb.

Exit codes: 0 success, 1 the model or its data are invalid, 2 usage error, 3 differences that break callers
(`diff`), 130 interrupted.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from sardonyx._src.cli.output import streams
from sardonyx._src.cli.output.destinations import check_streams
from sardonyx._src.errors import InputError, SardonyxError
from sardonyx._src.suggestions import did_you_mean

VERBS_FOLDER = Path(__file__).parent / "verbs"
VERBS_PACKAGE = f"{__name__.rpartition('.')[0]}.verbs"
SPELLINGS = {"externalize": "externalise", "internalize": "internalise", "optimise": "optimize"}
EXIT_OK, EXIT_FINDINGS, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 130

if TYPE_CHECKING:
    Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


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
    """The summary of a verb, parsed from its source: importing all verbs to list them would be slow."""
    for statement in ast.parse((VERBS_FOLDER / f"{module_name(name)}.py").read_text("utf-8")).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="HELP")], value=ast.Constant(value=str(text))):
                return text
    raise AssertionError(f"the verb {name} must define HELP")


class VerbListFormatter(argparse.HelpFormatter):
    """Formats the list of verbs with a column that is wide enough for the longest verb.

    argparse ignores the indent of the verbs when it computes the width.
    """

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += self._indent_increment


def top_parser() -> tuple[argparse.ArgumentParser, Subparsers]:
    """The argument parser without verbs, and the object to add them to."""
    top = argparse.ArgumentParser(
        prog="sardonyx",
        description="Read, inspect and run ONNX models.",
        epilog="`sardonyx VERB --help` explains a verb.",
        formatter_class=VerbListFormatter,
    )
    top.add_argument("--version", action="store_true", help="print the version and exit")
    return top, top.add_subparsers(dest="verb", metavar="VERB", title="verbs")


def parser(chosen: str | None) -> argparse.ArgumentParser:
    """The argument parser; imports only the chosen verb."""
    top, verbs = top_parser()
    if chosen is None:
        for name in verb_names():
            verbs.add_parser(name, help=help_of(name))
        return top
    add_verb(verbs, chosen)
    return top


def add_verb(verbs: Subparsers, name: str) -> argparse.ArgumentParser:
    """Adds the complete parser of a verb, and returns it."""
    module = load_verb(name)
    verb_parser = verbs.add_parser(name, description=module.__doc__, help=module.HELP, allow_abbrev=False)
    verb_parser.formatter_class = argparse.RawDescriptionHelpFormatter
    module.arguments(verb_parser)
    return verb_parser


def complete_parser() -> argparse.ArgumentParser:
    """The argument parser with the options of all verbs, from which completions and the manual page are made."""
    top, verbs = top_parser()
    for name in verb_names():
        add_verb(verbs, name)
    return top


def verb_parser(name: str) -> argparse.ArgumentParser:
    """The parser of a single verb."""
    return add_verb(top_parser()[1], name)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    words[:1] = [SPELLINGS.get(word, word) for word in words[:1]]
    chosen = words[0] if words and words[0] in verb_names() else None
    if chosen is None and words and not words[0].startswith("-"):
        names = [*verb_names(), *SPELLINGS]
        cure = did_you_mean(words[0], names) or "; `sardonyx --help` lists them"
        return report_error(f"there is no verb {words[0]!r}{cure}", EXIT_USAGE)
    try:
        args = parse(words, chosen)
    except SystemExit as done:  # argparse has printed the reason
        return EXIT_USAGE if done.code else EXIT_OK
    if args.version:
        return version()
    if args.verb is None:
        parser(None).print_help()
        return EXIT_USAGE
    return run_verb(load_verb(args.verb), args)


def parse(words: Sequence[str], chosen: str | None) -> argparse.Namespace:
    """The arguments of a command line, in any order; an unknown option is an error that suggests a known one."""
    if chosen is None:
        top = parser(None)
        refuse_unknown_options(top, words)
        return top.parse_args(words)
    chosen_parser = verb_parser(chosen)
    refuse_unknown_options(chosen_parser, words[1:])
    args, unknown = chosen_parser.parse_known_intermixed_args(words[1:])
    args.verb, args.version = chosen, False
    if unknown:
        chosen_parser.error(f"unrecognized arguments: {printable_words(unknown)}")
    try:
        check_streams(chosen_parser, args)
    except InputError as error:
        raise SystemExit(report_error(str(error), EXIT_USAGE)) from None
    return args


def refuse_unknown_options(of: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Exits with an error that suggests the closest option.

    argparse would report an unknown option only after other errors, such as a missing argument.
    """
    options = [flag for action in of._actions for flag in action.option_strings]
    for word in takewhile("--".__ne__, words):
        name = word.partition("=")[0]
        is_option = len(word) > 1 and word[0] == "-" and " " not in word and not is_number(word)
        if is_option and name not in options and not (word[1] != "-" and word[:2] in options):
            of.error(f"unrecognized arguments: {streams.printable(word)}{did_you_mean(name, options)}")


def is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def printable_words(words: Sequence[str]) -> str:
    return " ".join(map(streams.printable, words))


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
        return report_error(with_notes(error), EXIT_USAGE)
    except SardonyxError as error:
        return report_error(prefix_model_path(error, args), EXIT_FINDINGS)
    except MemoryError:
        return report_error("out of memory", EXIT_FINDINGS)
    except BrokenPipeError:  # the reader closed the pipe, as `| head` does
        streams.discard_unwritten()
        return EXIT_OK
    except OSError as error:
        streams.discard_unwritten()
        return report_error(
            f"{error.filename}: {error.strerror}" if error.filename else str(error), EXIT_USAGE
        )
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return code


def with_notes(error: SardonyxError) -> str:
    """The message of an error and the notes that were added to it."""
    return "; ".join([str(error), *getattr(error, "__notes__", ())])


def prefix_model_path(error: SardonyxError, args: argparse.Namespace) -> str:
    """The error message, prefixed with the path of the model unless it starts with it."""
    text, model = with_notes(error), getattr(args, "model", None)
    return text if not isinstance(model, str) or text.startswith(model) else f"{model}: {text}"


def report_error(text: str, code: int) -> int:
    sys.stderr.write(f"sardonyx: {streams.printable(text)}\n")
    return code


def entry() -> None:
    """Entry point of the installed command."""
    streams.prepare()
    code = main()
    skip_last_collection()
    sys.exit(code)


def skip_last_collection() -> None:
    """Exempts all objects from the collections with which the interpreter ends, a tenth of the time of a short command.

    They would find and free the objects of all modules, models and sessions, whose memory the system takes at once.  What
    is lost is the deletion of cycles: a buffered file in one would not be written.  The command closes its files; the
    code of plugins may not, so that a process with some ends as others do.  So does one that imports `sardonyx`.
    """
    if "sardonyx._src.ops" in sys.modules:  # `--help` needs no operators
        from sardonyx._src.ops.installed_plugins import has_foreign_plugins

        if has_foreign_plugins():
            return
    gc.freeze()
