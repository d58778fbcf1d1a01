"""What became of one case: a harmless outcome, or a fault with a signature that equal faults share."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path

SIGNAL, UNTYPED, DEFECT = "signal", "untyped error", "compiler defect"
SLOW, DIFFERENCE, GENERATOR = "over the time limit", "difference", "error of the generator"
FAULTS = (SIGNAL, UNTYPED, DEFECT, SLOW, DIFFERENCE, GENERATOR)
PACKAGE = f"{Path('sardonyx') / '_src'}/"
MAX_DETAIL = 400  # characters


@dataclass(frozen=True, slots=True)
class Verdict:
    """outcome: the class of cases that this one is counted with.  fault: its kind, one of FAULTS, or "".

    signature: what faults of one cause have in common.  detail: what happened in this case.
    """

    outcome: str
    fault: str = ""
    signature: str = ""
    detail: str = ""


def fault(kind: str, signature: str, detail: str) -> Verdict:
    return Verdict("fault", kind, signature, " ".join(detail.split())[:MAX_DETAIL])


def untyped(error: BaseException, action: str) -> Verdict:
    """The fault of an exception that is no SardonyxError; `action` is what raised it."""
    return fault(UNTYPED, f"{action}: {type(error).__name__} in {place_of(error)}", describe(error))


def place_of(error: BaseException) -> str:
    """The file and function of this package that raised an error last, or the function that it left first."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if PACKAGE in frame.filename]
    if not ours:
        return frames[-1].name if frames else "no frame"
    return f"{ours[-1].filename.partition(PACKAGE)[2]}:{ours[-1].name}"


def describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:MAX_DETAIL]}"
