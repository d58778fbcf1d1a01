"""How many cases two tools get right: the official suite, and documents with one fault each beside their repaired twins.

The tools run in processes of their own, which start again after a crash; the case that crashed counts as failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from measure import FOLDER

sys.path.append(str(FOLDER.parent / "tests"))
from check.examples import write
from check.test_check_pairs import PAIRS, Pair
from conformance.official import (
    OfficialCase,
    assert_case_passes,
    assert_close,
    official_cases,
    open_native,
)
from sardonyx._src.check import check
from sardonyx._src.errors import SardonyxError
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode

NEWEST_IR_OF_PEER = 13  # onnxruntime rejects the number 14, which most of its cases do not need
Trial = Callable[[], bool]


def count_passes(suite: str, tool: str) -> tuple[int, int]:
    """The numbers of cases that a tool passes, and of all cases."""
    passed = start = 0
    while True:
        command = [sys.executable, __file__, suite, tool, "--start", str(start)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("case "):
                    passed += line == "case passes\n"
                    start += 1
        if process.returncode == 0:
            return passed, start
        start += 1  # the one that ended the process


def trials(suite: str, tool: str) -> list[Trial]:
    """What each case of a suite asks of a tool."""
    return list(SUITES[suite](tool))


def official_trials(tool: str) -> Iterator[Trial]:
    attempt = {"sardonyx": run_ours, "onnxruntime": run_peer}[tool]
    for case in official_cases():
        yield lambda case=case: attempt(case)  # type: ignore[misc]


def run_ours(case: OfficialCase) -> bool:
    try:
        assert_case_passes(case, open_session=open_native)
    except (SardonyxError, AssertionError):
        return False
    return True


def run_peer(case: OfficialCase) -> bool:
    """Whether onnxruntime's own `onnx.backend` interface gives the outputs of a case, within its tolerance."""
    from onnxruntime import backend

    stored = case.model if isinstance(case.model, bytes) else case.model.read_bytes()
    record = decode(stored, m.ModelProto)
    record.ir_version = min(record.ir_version or 0, NEWEST_IR_OF_PEER)
    try:
        prepared = backend.prepare(encode(record), "CPU")
        for inputs, outputs in case.data_sets(case.load()):
            for result, expected in zip(prepared.run(inputs), outputs, strict=True):
                if "bernoulli" in case.name:  # random: what is promised is the type
                    expected = np.asarray(result, np.asarray(expected).dtype)
                assert_close(result, expected, case.rtol, case.atol, case.name)
    except Exception:  # noqa: BLE001  # exceptions of onnxruntime have no other common base
        return False
    return True


def checker_trials(tool: str) -> Iterator[Trial]:
    accepts = {"sardonyx": accepts_ours, "onnx": accepts_peer}[tool]
    for pair in error_pairs():
        yield lambda pair=pair: tells_apart(pair, accepts)  # type: ignore[misc]


def error_pairs() -> list[Pair]:
    """The pairs of binary models whose bad document violates a MUST; other documents are beyond onnx's checker."""
    with tempfile.TemporaryDirectory() as folder:
        return [
            pair
            for i, pair in enumerate(PAIRS)
            if pair.severity == "error" and is_binary_model(pair.bad, Path(folder) / str(i))
        ]


def is_binary_model(example: str, folder: Path) -> bool:
    folder.mkdir()
    path, kind = write(example, folder)
    return kind == "model" and path.suffix == ".onnx"


def tells_apart(pair: Pair, accepts: Callable[[Path], bool]) -> bool:
    """Whether a checker accepts the repaired document of a pair and refuses the bad one."""
    with tempfile.TemporaryDirectory() as good, tempfile.TemporaryDirectory() as bad:
        return accepts(write(pair.good, Path(good))[0]) and not accepts(write(pair.bad, Path(bad))[0])


def accepts_ours(path: Path) -> bool:
    return check(path).ok


def accepts_peer(path: Path) -> bool:
    import onnx

    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception:  # noqa: BLE001  # exceptions of the decoder, the checker and inference
        return False
    return True


SUITES: dict[str, Callable[[str], Iterator[Trial]]] = {"official": official_trials, "checker": checker_trials}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("tool", choices=("sardonyx", "onnxruntime", "onnx"))
    parser.add_argument("--start", type=int, default=0, help="the first case")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    for trial in trials(options.suite, options.tool)[options.start :]:
        print("case passes" if trial() else "case fails", flush=True)


if __name__ == "__main__":
    main()
