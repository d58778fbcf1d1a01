"""The hook that checks the subject of a commit message."""

from __future__ import annotations

from pathlib import Path

import pytest

from check_commit_subject import MAX_LENGTH, main, subject_errors, subject_of


@pytest.mark.parametrize(
    "subject",
    [
        "infer: keep symbolic batch in Resize",
        "ops/nn: accept an empty batch in Conv",
        "infer, convert: read the axes of Squeeze 13 from its input",
        "ci: print the slowest tests",
        "io: " + "x" * (MAX_LENGTH - 4),
        "Merge branch 'main' into infer",
        'Revert "infer: keep symbolic batch in Resize"',
        "fixup! infer: keep symbolic batch in Resize",
    ],
)
def test_a_valid_subject_has_no_errors(subject: str) -> None:
    assert subject_errors(subject) == []


@pytest.mark.parametrize(
    ("subject", "error"),
    [
        ("io: " + "x" * (MAX_LENGTH - 3), "at most 72 characters; got 73"),
        ("Keep symbolic batch in Resize", "must be `scope: what`"),
        ("Infer: keep symbolic batch", "must be `scope: what`"),
        ("infer:keep symbolic batch", "must be `scope: what`"),
        ("infer: ", "must be `scope: what`"),
        ("", "must be `scope: what`"),
        ("infer: keep symbolic batch.", "must not end with a full stop"),
    ],
)
def test_an_invalid_subject_is_reported(subject: str, error: str) -> None:
    (message,) = subject_errors(subject)
    assert error in message


def test_the_subject_is_the_first_line_that_is_no_comment() -> None:
    assert subject_of("# a comment\n\nio: read pages\n\nWhy.\n") == "io: read pages"
    assert subject_of("# a comment\n") == ""


def test_the_hook_reads_a_file_and_fails_on_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = tmp_path / "COMMIT_EDITMSG"
    message.write_text("io: read pages\n\nA longer body, whose lines have no limit.\n")
    assert main([str(message)]) == 0
    message.write_text("Read pages\n")
    assert main([str(message)]) == 1
    assert "'Read pages': a subject must be `scope: what`" in capsys.readouterr().err
