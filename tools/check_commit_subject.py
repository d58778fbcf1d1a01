"""Check the subjects of commits: `scope: what`, at most 72 characters.

python tools/check_commit_subject.py .git/COMMIT_EDITMSG      # a message, as a commit-msg hook
python tools/check_commit_subject.py --range origin/main..    # every commit of a range
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

MAX_LENGTH = 72
PATTERN = re.compile(r"[a-z0-9][a-z0-9_./-]*(, [a-z0-9][a-z0-9_./-]*)*: \S.*")
EXEMPT = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")  # written by git


def subject_errors(subject: str) -> list[str]:
    """What must change about a subject; empty for a valid one."""
    if subject.startswith(EXEMPT):
        return []
    errors = []
    if len(subject) > MAX_LENGTH:
        errors.append(f"a subject must have at most {MAX_LENGTH} characters; got {len(subject)}")
    if not PATTERN.fullmatch(subject):
        errors.append(
            "a subject must be `scope: what`, with the scope in lower case, "
            "such as `infer: keep symbolic batch in Resize`"
        )
    elif subject.endswith("."):
        errors.append("a subject must not end with a full stop")
    return errors


def subject_of(message: str) -> str:
    """The first line of a commit message that is neither blank nor a comment; empty if there is none."""
    lines = (line.strip() for line in message.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")


def subjects_in(revisions: str) -> list[str]:
    """The subjects of the commits in a range of revisions, merges excluded."""
    command = ["git", "log", "--no-merges", "--format=%s", revisions, "--"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def report(subjects: Iterable[str]) -> int:
    """Print the errors of each subject; the exit code."""
    code = 0
    for subject in subjects:
        for error in subject_errors(subject):
            print(f"{subject!r}: {error}", file=sys.stderr)
            code = 1
    return code


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("file", nargs="?", type=Path, help="a file with a commit message")
    source.add_argument("--range", metavar="REVISIONS", help="check every commit in a range of revisions")
    args = parser.parse_args(arguments)
    if args.range is not None:
        return report(subjects_in(args.range))
    return report([subject_of(args.file.read_text(encoding="utf-8"))])


if __name__ == "__main__":
    sys.exit(main())
