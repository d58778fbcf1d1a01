"""Wrong values of every option and wrong files for every argument, of every verb: an exit code and at most one line."""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

import sardonyx as sx
from public_face import model
from sardonyx._src.cli.main import EXIT_FINDINGS, EXIT_OK, EXIT_USAGE, main, parser, verb_names

VALUES = ("", "bogus", "-1", "99999999999999999999", "x=missing.npy", "folder", "\udcff")
FILES = ("missing.onnx", "folder", "damaged.onnx", "empty.onnx", "", "\udcff")
EXIT_BREAKING = 3  # of `diff`
SLOW = ("bench", "profile")  # verbs that measure: of these, options alone

# Verbs that serve until a signal, and options with which they do not.
SERVERS = {"view": ["-o", "o.html"], "serve": ["--certificate", "missing.pem"]}


def actions_of(verb: str) -> tuple[list[argparse.Action], list[argparse.Action]]:
    """The positional arguments of a verb, and its options that take a value."""
    subparsers = next(a for a in parser(verb)._actions if isinstance(a, argparse._SubParsersAction))
    actions = subparsers.choices[verb]._actions
    positional = [action for action in actions if not action.option_strings]
    return positional, [action for action in actions if action.option_strings and action.nargs != 0]


def command_lines(verb: str) -> Iterator[list[str]]:
    positional, options = actions_of(verb)
    models = ["m.onnx" for action in positional if action.nargs not in ("*", "?")]
    required = [
        word for action in options if action.required for word in (action.option_strings[-1], "o.onnx")
    ]
    required += SERVERS.get(verb, [])
    yield [verb]
    yield [verb, *models, "--bogus"]
    yield [verb, *models, *required, *models, *models]
    for action in options:
        name = action.option_strings[-1]
        for value in VALUES:
            if verb not in SLOW or value != "99999999999999999999":
                yield [verb, *models, *required, f"{name}={value}"]
    for i in range(len(positional)):
        for file in FILES:
            yield [verb, *models[:i], file, *models[i + 1 :], *required]


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "damaged.onnx").write_bytes(b"\0bogus")
    (tmp_path / "empty.onnx").touch()


@pytest.mark.parametrize("verb", list(verb_names()))
def test_wrong_use_has_a_code_and_a_line(
    verb: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in command_lines(verb):
        sx.save(model(), "m.onnx")
        monkeypatch.setattr("sys.stdin", io.StringIO())
        code = main(words)
        captured = capfd.readouterr()
        assert code in (EXIT_OK, EXIT_FINDINGS, EXIT_USAGE, EXIT_BREAKING), (words, code)
        assert "Traceback" not in captured.err, (words, captured.err)
        if code == EXIT_USAGE and words != [verb]:
            lines = [
                line
                for line in captured.err.splitlines()
                if ": error: " in line or line.startswith("sardonyx: ")
            ]
            assert len(lines) == 1, (words, captured.err)
