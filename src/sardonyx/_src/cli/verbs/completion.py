"""Print a script that completes verbs, options and file names in a shell.

sardonyx completion bash > ~/.local/share/bash-completion/completions/sardonyx
sardonyx completion zsh > ~/.zfunc/_sardonyx
eval "$(sardonyx completion bash)"

To print the script, the package shtab (the extra "completion") is required; the script itself requires nothing.
"""

from __future__ import annotations

import argparse

from sardonyx._src.cli.output.destinations import OutputPath
from sardonyx._src.cli.output.streams import write_out
from sardonyx._src.errors import MissingPackage

HELP = "print a completion script for a shell"
SHELLS = ("bash", "zsh", "tcsh")
FILE_ARGUMENTS = {"model", "other", "second", "inputs", "operator_set", "operator_set_path", "data", "folder"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(args: argparse.Namespace) -> int:
    from sardonyx._src.cli.main import complete_parser

    write_out([completion_script(complete_parser(), args.shell)])
    return 0


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for a shell; raises MissingPackage without shtab."""
    try:
        import shtab
    except ImportError:
        what = "shell completion needs the package shtab; run: pip install 'sardonyx[completion]'"
        raise MissingPackage(what, package="shtab") from None
    for verb in subparsers_of(parser):
        for action in verb._actions:
            if action.dest in FILE_ARGUMENTS or isinstance(action.type, OutputPath):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    script: str = shtab.complete(parser, shell)
    return script


def subparsers_of(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """The parsers of the verbs."""
    (verbs,) = (a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    return list(verbs.choices.values())
