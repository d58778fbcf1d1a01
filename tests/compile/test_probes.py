"""Probes of classes of processors: what they expect, that they are those of tools/probes, and that they notice faults."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import class_probes
import sardonyx as sx
from probes.probe import Probe
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.compile.llvm import probe_process
from sardonyx._src.compile.llvm import probes as runner
from sardonyx._src.compile.llvm.executable_memory import ExecutableMemory
from sardonyx._src.compile.llvm.host_target import linux_features, vendor
from sardonyx._src.compile.llvm.probe_process import ProbeFault
from sardonyx._src.compile.llvm.probes import run_class_probes
from sardonyx._src.compile.llvm.probes_file import (
    ClassProbes,
    ExpectedResult,
    read_index,
    read_probes,
    write_probes,
)
from sardonyx._src.compile.llvm.target_classes import CLASSES, CLASSES_BY_NAME, PROBES_PATH, classes_of

needs_probes = pytest.mark.skipif(saved_program_machine() is None, reason="probes are for Linux")
MACHINE = saved_program_machine() or ""
HERE = [c.name for c in classes_of(linux_features(MACHINE), vendor(), MACHINE)] if MACHINE else []
ELSEWHERE = [c.name for c in CLASSES if c.machine == MACHINE and c.name not in HERE]
UNDEFINED = {"x86_64": b"\x0f\x0b", "aarch64": b"\x00\x00\x00\x00"}  # ud2, udf
PROBES = {probe.name: probe for probe in class_probes.PROBES}
TYPES = {
    "float": np.float32,
    "double": np.float64,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
}
TYPES["half"] = np.float16


def test_the_file_has_the_probes_of_all_classes() -> None:
    """After a change of tools/probes or of the classes, `make regen` writes it."""
    assert class_probes.stale_classes() == []


def test_every_class_has_probes_of_all_its_features() -> None:
    """AVX512-VNNI, bfloat16, tiles and the like are what one class has more than the next."""
    names = {c.name: {probe.name for probe in class_probes.probes_of(c)} for c in CLASSES}
    assert "tdpbusd" in names["x86-64-v4-amx"] - names["x86-64-v4-bf16"]
    assert "vdpbf16ps" in names["x86-64-v4-bf16"] - names["x86-64-v4-vnni"]
    assert "pmaddubsw 512" in names["x86-64-v4"] - names["x86-64-v3"]
    assert "vpdpbusd 512" in names["x86-64-v4-vnni"] - names["x86-64-v4"]
    assert "vpdpbusd 256" in names["x86-64-v3-vnni"] - names["x86-64-v3"]
    assert "fma float" in names["x86-64-v3"] - names["x86-64-v2"]
    assert "smmla" in names["aarch64-i8mm"] - names["aarch64"]
    assert len(PROBES) == len(class_probes.PROBES), "names are unique"


# --- what is expected, beside NumPy -----------------------------------------------------------


def arrays(probe: Probe) -> tuple[list[np.ndarray], np.ndarray]:
    columns = (*probe.inputs, probe.expected)
    values = [np.frombuffer(c.content(), TYPES[c.type]) for c in columns]
    return values[:-1], values[-1]


BY_NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fdiv": np.divide,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "add": np.add,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "shl": np.left_shift,
    "ashr": np.right_shift,
    "smax": np.maximum,
    "fpext": lambda x: x,
    "fptrunc": lambda x: x,
    "sitofp": lambda x: x,
    "sext": lambda x: x,
    "fptosi": lambda x: x,
}


@pytest.mark.parametrize("name", [name for name in PROBES if name.split()[0] in BY_NUMPY])
@pytest.mark.filterwarnings("ignore:overflow")
def test_exact_arithmetic_agrees_with_numpy(name: str) -> None:
    inputs, expected = arrays(PROBES[name])
    if " i" in name and "fpt" not in name and name.startswith("trunc"):
        return  # of integers, which NumPy converts
    with np.errstate(all="ignore"):
        result = BY_NUMPY[name.split()[0]](*inputs).astype(expected.dtype)
    np.testing.assert_array_equal(result.view(np.uint8), expected.view(np.uint8))


def test_fma_needs_one_rounding() -> None:
    """Half of the results are what one rounding of the product loses."""
    (a, b, c), expected = arrays(PROBES["fma float"])
    exact = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    np.testing.assert_array_equal(exact.astype(np.float32)[::2], expected[::2])
    twice = a * b + c
    assert (twice != expected).mean() > 0.4


def test_dot_products_of_bytes_exceed_16_bits() -> None:
    (totals, a, b), expected = arrays(PROBES["vpdpbusd 512"])
    products = a.view(np.uint8).astype(np.int64) * b
    sums = products.reshape(-1, 4).sum(1)
    np.testing.assert_array_equal(totals + sums, expected)
    pairs = products.reshape(-1, 2).sum(1)
    assert (np.abs(pairs) > 32767).any(), "an instruction that saturates in 16 bits is noticed"


def test_a_product_of_tiles() -> None:
    (totals, a, b), expected = arrays(PROBES["tdpbusd"])
    left = a.view(np.uint8).reshape(4, 64).astype(np.int64)
    right = b.reshape(16, 16, 4).transpose(0, 2, 1).reshape(64, 16).astype(np.int64)
    np.testing.assert_array_equal(totals.reshape(4, 16) + left @ right, expected.reshape(4, 16))


# --- runs ------------------------------------------------------------------------------------


def run_probes(probes: ClassProbes) -> tuple[int, bytes, str]:
    return runner.run_probes(probes, ExecutableMemory(probes.code, probes.functions, {}))


@needs_probes
@pytest.mark.parametrize("name", HERE)
def test_this_machine_computes_what_each_of_its_classes_expects(name: str) -> None:
    probes = read_probes(PROBES_PATH, name)
    finished, results, how = run_probes(probes)
    assert (finished, how) == (len(probes.results), "")
    assert results == b"".join(probes.data[r.place : r.place + r.size] for r in probes.results)


@needs_probes
@pytest.mark.parametrize("name", ELSEWHERE)
def test_instructions_that_this_processor_does_not_have_are_noticed(name: str) -> None:
    """They end the child process."""
    if set(CLASSES_BY_NAME[name].features) <= linux_features(MACHINE):
        pytest.skip("it differs by the vendor only")
    fault = run_class_probes(name)
    assert fault is not None and fault.how == "ends with SIGILL"


@needs_probes
@pytest.mark.parametrize("number", [0, 7, -1])
def test_a_wrong_value_is_noticed(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    probes = read_probes(PROBES_PATH, HERE[-1])
    result = probes.results[number]
    monkeypatch.setattr(runner, "read_probes", lambda path, name: with_wrong_byte(probes, result))
    assert run_class_probes(HERE[-1]) == ProbeFault(result.probe, "gives wrong values")


def with_wrong_byte(probes: ClassProbes, result: ExpectedResult) -> ClassProbes:
    """Probes that expect something else in the last byte of a result."""
    data = bytearray(probes.data)
    data[result.place + result.size - 1] ^= 1
    return replace(probes, data=bytes(data))


def damaged(probes: ClassProbes) -> ClassProbes:
    """Probes of which the first instruction is undefined."""
    start, code = probes.functions["run_probes"], UNDEFINED[MACHINE]
    return replace(probes, code=probes.code[:start] + code + probes.code[start + len(code) :])


def children() -> set[str]:
    """The child processes of this process, ended ones among them."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {child for task in tasks for child in task.read_text().split()}


@needs_probes
def test_a_child_that_ends_leaves_its_parent_alone() -> None:
    probes = read_probes(PROBES_PATH, HERE[-1])
    received: list[int] = []
    before = children()
    previous = signal.signal(signal.SIGCHLD, lambda number, frame: received.append(number))
    try:
        finished, _, how = run_probes(damaged(probes))
    finally:
        signal.signal(signal.SIGCHLD, previous)
    assert (finished, how, received) == (0, "ends with SIGILL", [])
    assert children() == before


@needs_probes
def test_without_a_child_the_probes_run_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the system refuses another process."""
    monkeypatch.setattr(probe_process, "run_in_child", lambda *arguments: probe_process.REFUSED)
    assert run_class_probes(HERE[0]) is None
    probes = read_probes(PROBES_PATH, HERE[0])
    assert run_probes(probes)[0] == len(probes.results)


@needs_probes
def test_a_child_that_others_end_says_nothing_about_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_process, "run_in_child", lambda *arguments: int(signal.SIGKILL))
    assert run_class_probes(HERE[0]) is None


# --- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 3, 4, 100, 1000])
@pytest.mark.parametrize("start", [b"", b"\xff\xff\xff\xff", b"\2\0\0\0[]", b"a text, not probes"])
def test_damaged_probes_are_named(size: int, start: bytes, tmp_path: Path) -> None:
    content = PROBES_PATH.read_bytes()
    path = tmp_path / "probes"
    path.write_bytes(start + content[len(start) : size])
    with pytest.raises(sx.DecodeError, match=r"probes: byte 0: .* install Sardonyx again"):
        read_probes(path, HERE[-1])


def test_classes_share_equal_data(tmp_path: Path) -> None:
    first, second = (
        ClassProbes(code, {"f": 8}, b"1234", (ExpectedResult("p", 0, 4),), "d") for code in (b"a", b"b")
    )
    path = tmp_path / "probes"
    write_probes(path, {"first": first, "second": second, "third": replace(first, data=b"5")})
    assert [read_probes(path, name) for name in ("first", "second")] == [first, second]
    assert read_probes(path, "third").data == b"5"
    with open(path, "rb") as file:
        assert len(read_index(file)) == 3 + 2
