"""Output of verbs: options that name files, standard output as `-`, and the line that says what was written."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import BinaryIO

from sardonyx._src.cli.output.streams import STANDARD_STREAM, printable, standard_output
from sardonyx._src.errors import InputError
from sardonyx._src.measure.quantities import quantity

MODEL_SUFFIXES = (".onnx", ".onnxtxt", ".txt", ".json", ".pb", "")  # a file without suffix is binary


@dataclass(frozen=True)
class OutputPath:
    """The argparse type of an option that names an output: a path with one of the suffixes, `-`, a device or a pipe.

    folders: whether a path without suffix, or the path of an existing folder, is accepted as a folder.
    """

    suffixes: Sequence[str]
    folders: bool = False

    def __call__(self, text: str) -> str:
        if is_stream(text) and not os.path.isdir(text):
            return text
        if not text:
            raise argparse.ArgumentTypeError("must be a path, or - for standard output; got ''")
        is_folder = os.path.isdir(text) or text.endswith(os.sep)
        if is_folder and not self.folders:
            raise argparse.ArgumentTypeError(f"must be a file; got the folder {text}; name a file in it")
        suffix = os.path.splitext(text)[1]
        if not is_folder and suffix not in self.suffixes and (suffix or not self.folders):
            raise argparse.ArgumentTypeError(f"must {self.expected()}; got {printable(text)!r}")
        return text

    def expected(self) -> str:
        listed = [suffix for suffix in self.suffixes if suffix]
        end = f"end in {' or '.join(listed)}"
        folder = ", or be a folder" if self.folders else ""
        return f"{end}{folder}, or be - for standard output"


def add_output(
    parser: argparse.ArgumentParser,
    *flags: str,
    suffixes: Sequence[str] = MODEL_SUFFIXES,
    folders: bool = False,
    help: str,
    required: bool = False,
    metavar: str = "FILE",
) -> None:
    """Adds an option for a file that a verb writes; flags: its names, by default `-o, --out`."""
    kind = OutputPath(suffixes, folders)
    parser.add_argument(
        *(flags or ("-o", "--out")),
        type=kind,
        metavar=metavar,
        required=required,
        help=f"{help}; - writes to standard output",
    )


def output_actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The options of a verb that `add_output` added."""
    return [action for action in parser._actions if isinstance(action.type, OutputPath)]


def check_streams(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Raises InputError if two documents would be written to standard output, or a binary one to a terminal."""
    streams = [
        a.option_strings[-1] for a in output_actions(parser) if getattr(args, a.dest) == STANDARD_STREAM
    ]
    streams += [f"--{name}" for name in ("json", "sarif") if streams and getattr(args, name, False)]
    if len(streams) > 1:
        what = f"{' and '.join(streams)} must not both write to standard output; got -; name a file"
        raise InputError(what, name=streams[0])
    if streams and sys.stdout is not None and sys.stdout.isatty():
        what = f"{streams[0]} - must not write to a terminal; redirect standard output, or name a file"
        raise InputError(what, name=streams[0])
    args.standard_output_taken = bool(streams)


def report_to(args: argparse.Namespace, text: str) -> None:
    """Writes a report: to standard output, or to standard error if a document is written to standard output."""
    (sys.stderr if args.standard_output_taken else sys.stdout).write(text)


def is_stream(path: str) -> bool:
    """Whether a path is standard output, or names a device or pipe."""
    return path == STANDARD_STREAM or (os.path.exists(path) and not os.path.isfile(path))


@contextmanager
def open_stream(path: str) -> Iterator[BinaryIO]:
    """Standard output, or the device or pipe at a path, to write bytes to."""
    file: AbstractContextManager[BinaryIO] = (
        nullcontext(standard_output()) if path == STANDARD_STREAM else open(path, "wb")  # noqa: SIM115
    )
    with file as stream:
        yield stream
        stream.flush()


def create_parent(path: str) -> None:
    """Creates the folder of a file to be written."""
    os.makedirs(os.path.dirname(path) or os.curdir, exist_ok=True)


def write_file(path: str, write: Callable[[str], object]) -> None:
    """Calls `write` with the path; for a stream, with the path of a temporary file, which is then copied to the stream."""
    if not is_stream(path):
        create_parent(path)
        write(path)
        return
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        temporary = os.path.join(folder, "output")
        write(temporary)
        with open(temporary, "rb") as file, open_stream(path) as stream:
            shutil.copyfileobj(file, stream)


def report_written(args: argparse.Namespace, *paths: str) -> None:
    """Prints which files were written, with their sizes; on standard error if a document is on standard output."""
    line = f"written: {', '.join(map(describe, paths))}\n"
    is_beside = args.standard_output_taken or getattr(args, "json", False)
    (sys.stderr if is_beside else sys.stdout).write(line)


def describe(path: str) -> str:
    if path == STANDARD_STREAM:
        return "standard output"
    size = f" ({quantity(os.path.getsize(path), 'B')})" if os.path.isfile(path) else ""
    return printable(path) + size
