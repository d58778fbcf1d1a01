"""Runs the code of a documentation page: blocks of Python and console sessions, in the order of the page.

Python blocks share their names.  What a `print` writes is compared with the comment after it, a console command with
the lines below it; in both, `...` stands for any text.  A command is expected to exit with 0, or with N if it ends in
`# exits with N`.
"""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from sardonyx._src.cli.main import main
from sardonyx._src.runtime.session.activity import WORDS

BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CommandRunner: TypeAlias = Callable[[str], tuple[int, str]]  # of a command: its exit code, and what it prints
PROGRESS = re.compile(rf"(?:{'|'.join(WORDS.values())}|loading kernels)(?: [0-9./]+(?: of [0-9.]+ [MG]B)?)?")
COMMAND = re.compile(r"\$ (.*?)(?:  # exits with (\d+))?")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int  # of the page, of the first line of the code


@dataclass
class Printer:
    """The `print` of a page's code, which compares its text with the comment after the call."""

    source: list[str]
    first: int

    def __call__(self, *values: object, sep: str = " ", end: str = "\n", file: object = None) -> None:
        line = sys._getframe(1).f_lineno
        _, mark, comment = self.source[line - 1].rpartition("  # ")
        if mark:
            actual = " ".join(sep.join(map(str, values)).split())
            assert_matches(actual, comment.strip(), f"line {self.first + line - 1}")


def run_sardonyx(command: str) -> tuple[int, str]:
    """Run a command of sardonyx in this process."""
    words = shlex.split(command)
    assert words[0] == "sardonyx", f"expected a command of sardonyx, got {words[0]!r}"
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        code = exit_code(words[1:])
    return code, output.getvalue()


def run_page(path: Path, run_command: CommandRunner = run_sardonyx) -> None:
    """Run all blocks of a page in the current folder."""
    names: dict[str, object] = {"__name__": "__page__"}
    for block in blocks(path.read_text()):
        if block.language == "python":
            run_python(path, block, names)
        else:
            run_console(block, run_command)


def page_names(path: Path) -> dict[str, object]:
    """The names that the Python blocks of a page define; they are run in the current folder."""
    names: dict[str, object] = {"__name__": "__page__"}
    for block in blocks(path.read_text()):
        if block.language == "python":
            run_python(path, block, names)
    return names


def blocks(text: str) -> Iterator[Block]:
    for match in BLOCK.finditer(text):
        yield Block(match[1], match[2], text.count("\n", 0, match.start()) + 2)


def run_python(path: Path, block: Block, names: dict[str, object]) -> None:
    names["print"] = Printer(block.text.splitlines(), block.line)
    exec(compile(block.text, f"{path.name}:{block.line}", "exec"), names)


def run_console(block: Block, run_command: CommandRunner) -> None:
    """Run each command of a session, which begins with `$ `, and compare what it prints."""
    for command, expected, line in commands(block):
        match = COMMAND.fullmatch(command)
        assert match is not None, f"line {line}: expected `$ command`, got {command!r}"
        code, output = run_command(match[1])
        assert code == int(match[2] or 0), f"line {line}: exit code {code}\n{output}"
        if expected:
            assert_matches(normalize(without_progress(output)), normalize(expected), f"line {line}")


def commands(block: Block) -> Iterator[tuple[str, str, int]]:
    """Each command of a session with the text below it and its line on the page; `\\` continues a line."""
    text = block.text.replace("\\\n", "  ")
    parts = re.split(r"^(?=\$ )", text, flags=re.MULTILINE)
    for part in filter(None, parts):
        command, _, output = part.partition("\n")
        yield " ".join(command.split(" ")).rstrip(), output, block.line


def exit_code(words: list[str]) -> int:
    try:
        return main(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1


def without_progress(text: str) -> str:
    """Text without the lines that say what a session is doing, which appear where a machine is busy."""
    return "".join(line for line in text.splitlines(keepends=True) if not PROGRESS.fullmatch(line.rstrip()))


def normalize(text: str) -> str:
    """Text without differences of white space, which depend on the width of a terminal."""
    return " ".join(text.split())


def assert_matches(actual: str, expected: str, place: str) -> None:
    pattern = ".*".join(re.escape(part) for part in re.split(r"\.\.\.|…", expected))
    assert re.fullmatch(pattern, actual, re.DOTALL), f"{place}: expected\n{expected}\ngot\n{actual}"
