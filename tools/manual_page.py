"""Writes docs/generated/sardonyx.1, the manual page of the command, from the parsers of its verbs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import sardonyx as sx
from sardonyx._src.cli.main import complete_parser
from sardonyx._src.cli.verbs.completion import subparsers_of

PAGE = Path("docs/generated/sardonyx.1")
EXIT_CODES = (
    ("0", "success"),
    ("1", "the model or its data are invalid, or a comparison found differences"),
    ("2", "wrong use of the command, or a file that cannot be read"),
    ("3", "differences that break callers (diff)"),
    ("130", "interrupted"),
)
VARIABLES = (
    ("SARDONYX_CACHE", "the folder of the cache of kernels and programs; empty: no cache"),
    ("SARDONYX_CACHE_BYTES", "the size of the cache"),
    ("SARDONYX_SHARED_CACHE", "more cache folders, which are only read"),
    (
        "SARDONYX_TARGET",
        "the class of processors to compile for, such as x86-64-v3; by default the best of this one",
    ),
    ("SARDONYX_OPERATOR_SETS", "folders that are searched for operator-set documents"),
    ("NO_COLOR", "no color"),
)


def files() -> dict[Path, str]:
    return {PAGE: "\n".join(lines()) + "\n"}


def lines() -> Iterator[str]:
    """The lines of the page, in the macros of man(7)."""
    top = complete_parser()
    yield f'.TH SARDONYX 1 "" "sardonyx {sx.__version__}" "User Commands"'
    yield from section("NAME", "sardonyx \\- read, check, convert, optimize and run ONNX models")
    yield ".SH SYNOPSIS\n.B sardonyx\n.I VERB\n[\\fIoptions\\fR] [\\fIarguments\\fR]"
    yield from section("DESCRIPTION", roff(top.description or ""))
    yield (
        "A model is a file (.onnx, .onnxtxt, .json), or \\- for standard input.  An output is a file, or \\- for "
        "standard output; missing folders are created."
    )
    yield ".SH VERBS"
    for verb in subparsers_of(top):
        yield from verb_lines(verb)
    yield from definitions("EXIT STATUS", EXIT_CODES)
    yield from definitions("ENVIRONMENT", VARIABLES)


def verb_lines(verb: argparse.ArgumentParser) -> Iterator[str]:
    """The part of the page about one verb."""
    name = verb.prog.split()[-1]
    yield f".SS {roff(name)}"
    for paragraph in (verb.description or "").strip().split("\n\n"):
        is_example = paragraph.startswith("sardonyx ")
        yield f".PP\n.nf\n{roff(paragraph)}\n.fi" if is_example else f".PP\n{roff(paragraph)}"
    for action in verb._actions:
        if action.help != argparse.SUPPRESS and action.dest != "help":
            yield f".TP\n{term(action)}\n{roff(help_text(verb, action))}"


def term(action: argparse.Action) -> str:
    """An option with its value, or a positional argument."""
    value = action.metavar or action.dest
    if action.choices is not None:
        value = "|".join(map(str, action.choices))
    if not action.option_strings:
        return f"\\fI{roff(str(value))}\\fR"
    flags = ", ".join(f"\\fB{roff(flag)}\\fR" for flag in action.option_strings)
    return flags if action.nargs == 0 else f"{flags} \\fI{roff(str(value))}\\fR"


def help_text(verb: argparse.ArgumentParser, action: argparse.Action) -> str:
    return (action.help or "") % {**vars(action), "prog": verb.prog}


def section(title: str, text: str) -> Iterator[str]:
    yield f".SH {title}\n{text}"


def definitions(title: str, rows: tuple[tuple[str, str], ...]) -> Iterator[str]:
    yield f".SH {title}"
    for name, text in rows:
        yield f".TP\n\\fB{roff(name)}\\fR\n{roff(text)}"


def roff(text: str) -> str:
    """The text with what troff interprets escaped."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in escaped.splitlines())
