"""Programs on emulated machines of AArch64 and RISC-V: the bits that x86-64 computes, and the expected values."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from emulators.corpus import Case, cases, kernel_cases, write_case
from emulators.machines import HOST, MACHINES, Machine
from sardonyx._src.compile.llvm.host_target import compiler_version, find_class
from sardonyx._src.compile.llvm.target_classes import target_of
from sardonyx._src.runtime.kernel_library.building import build_cached_library

PROGRAMS = [(machine, name) for machine in MACHINES for name in machine.classes]
WITH_LLVM = next(m for m in MACHINES if m.architecture == "aarch64" and m.cpu == "max")
Results = dict[str, Any]


@dataclass(frozen=True)
class Corpus:
    """The cases that compile, and the folder of their programs."""

    folder: Path
    cases: tuple[Case, ...]

    def run(self, machine: Machine, name: str, threads: int) -> Results:
        """The results of all cases on a machine, by programs for a class."""
        out = self.folder / f"{machine}-{name}.results"
        script = Path(__file__).with_name("run_cases.py")
        words = (str(script), str(self.folder), name, str(threads), str(out))
        process = machine.run_python(self.folder / "cache", *words)
        assert process.returncode == 0, process.stderr
        results: Results = pickle.loads(out.read_bytes())
        return results


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    classes = {name for machine in (HOST, *MACHINES) for name in machine.classes}
    return Corpus(folder, tuple(case for case in cases() if write_case(case, folder, classes)))


@pytest.fixture(scope="module")
def host_results(corpus: Corpus) -> Results:
    return corpus.run(HOST, HOST.classes[0], threads=1)


@pytest.mark.parametrize(("machine", "name"), PROGRAMS, ids=str)
def test_programs_have_the_bits_of_x86(
    machine: Machine, name: str, corpus: Corpus, host_results: Results
) -> None:
    """Of kernels; NumPy, which runs the nodes without kernels, promises no bits."""
    results = corpus.run(machine, name, threads=2)
    assert results.keys() == host_results.keys() == {case.name for case in corpus.cases}
    wrong = [f"{case.name}: {what}" for case in corpus.cases for what in faults(case, results, host_results)]
    assert not wrong, "\n".join(wrong)


def test_a_session_compiles_or_takes_the_kernels_of_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library is compiled here; the machine loads its code without LLVM, and compiles the same kernels itself."""
    case = next(case for case in kernel_cases() if case.name == "convolutions")
    name, cache = WITH_LLVM.classes[0], tmp_path / "cache"
    monkeypatch.setenv("SARDONYX_CACHE", str(cache))
    chosen = find_class(name)
    build_cached_library(target_of(chosen, chosen.triple, compiler_version() or ""), [case.model])
    paths = [tmp_path / part for part in ("model.onnx", "feeds", "out")]
    sx.save(case.model, paths[0])
    paths[1].write_bytes(pickle.dumps(case.feeds))
    process = WITH_LLVM.run_python(cache, str(Path(__file__).with_name("run_session.py")), *map(str, paths))
    assert process.returncode == 0, process.stderr
    (from_library, compiled, loads_llvm), (from_library_again, compiled_again, _) = json.loads(process.stdout)
    assert (compiled, loads_llvm, from_library_again) == (0, False, 0)
    assert from_library == compiled_again > 0
    first, second = pickle.loads(paths[2].read_bytes())
    here = sx.Session(case.model, engine="native").run(case.feeds)
    assert bits(first) == bits(second) == bits(dict(here))


def faults(case: Case, results: Results, host_results: Results) -> Iterator[str]:
    """What is wrong with the results of a case."""
    if isinstance(results[case.name], str):
        yield results[case.name]
        return
    (first, second), fallback_nodes = results[case.name]
    if bits(first) != bits(second):
        yield "a second run has other bits"
    on_host = host_results[case.name][0][0]
    for name, value in first.items():
        if not fallback_nodes and bits(value) != bits(on_host[name]):
            yield f"{name} has other bits than on x86-64"
    for name, expected in case.expected.items():
        try:
            case.assert_equal(first[name], expected)
        except AssertionError as error:
            yield f"{name}: {error}"


def bits(value: Any) -> object:
    """Element type, shape and bits of each array; all NaNs are alike, since processors give them different bits."""
    if isinstance(value, dict):
        return {name: bits(item) for name, item in value.items()}
    if not isinstance(value, np.ndarray) or value.dtype.kind in "OSU":
        return repr(value.tolist() if isinstance(value, np.ndarray) else value)
    is_nan = value != value
    content = np.where(is_nan, np.zeros_like(value), value).tobytes()
    return str(value.dtype), value.shape, content, is_nan.tobytes()
