"""Saved programs: a loaded program equals the compiled one, and damaged files are rejected."""

from __future__ import annotations

import ctypes
import json
import pickle
import random
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.linker import features, link
from sardonyx._src.compile.llvm.executable_memory import ExecutableMemory
from sardonyx._src.compile.llvm.jit import compile_module, host_target
from sardonyx._src.errors import LimitError
from sardonyx._src.ir.dims import Known, ceil_div, dim_max, dim_min, symbol
from sardonyx._src.runtime.saved_programs import container
from sardonyx._src.runtime.saved_programs.container import SDX_HEADER, Json
from sardonyx._src.runtime.saved_programs.encoded_values import decode_dim, encode_dim
from sardonyx._src.runtime.saved_programs.writing import save_compiled

pytestmark = pytest.mark.skipif(
    features.saved_program_machine() is None, reason="the machine has no saved programs"
)

STATIC = """g (float[2,3] x) => (float[2,4] y) <float[3,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}>
    { a = MatMul(x, w)  y = Relu(a) }"""
DYNAMIC = """g (float[N,K] x, float[K,M] w) => (float[N,M] y, float[N,K] z)
    { a = MatMul(x, w)  y = Softmax <axis = 1> (a)  z = Exp(x) }"""
FALLBACK_OPS = """g (float[N] x, bool b) => (float[?] y, float[N] z, float[2] c) <float[2] c = {5, 6}, float[1] one = {1}>
    { a = Add(x, one)  d = NonZero(a)  n = Cast <to = 1> (d)  r = ReduceSum <keepdims = 0> (n)
      t = If (b) <then_branch = p () => (float[N] u) { u = Mul(a, one) }, else_branch = q () => (float[N] v) { v = Identity(x) }>
      z = Neg(t)  y = Add(r, x) }"""
GATHER = "g (float[3] x, int64[N] i) => (float[N] y) { y = Gather(x, i) }"
LOOP = """g (float[N,3] x, int64 m) => (float[N,3] y) {
    y = Loop <body = each (int64 i, bool on, float[N,3] s) => (bool goes, float[N,3] t) {
      goes = Identity(on)  a = Sub(x, s)  t = Tanh(a)
    }> (m, , x) }"""
SCAN_OUTPUT = """g (float[N,3] x, int64 m) => (float[N,3] y, float[A,N,3] z) {
    y, z = Loop <body = each (int64 i, bool on, float[N,3] s) => (bool goes, float[N,3] t, float[N,3] a) {
      goes = Identity(on)  a = Sub(x, s)  t = Tanh(a)
    }> (m, , x) }"""
MODELS = {
    "loop": LOOP,
    "scan_output": SCAN_OUTPUT,
    "static": STATIC,
    "dynamic": DYNAMIC,
    "fallback": FALLBACK_OPS,
    "gather": GATHER,
}
Feeds = dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]


def feeds_of(name: str, length: int) -> Feeds:
    rng = np.random.default_rng(length)
    x = rng.standard_normal((length, 3)).astype(np.float32)
    match name:
        case "static":
            return {"x": rng.standard_normal((2, 3)).astype(np.float32)}
        case "dynamic":
            return {"x": x, "w": rng.standard_normal((3, 5)).astype(np.float32)}
        case "loop":
            return {"x": x, "m": np.array(length - 1)}
        case "scan_output":
            return {"x": x, "m": np.array(10 * length + 1)}
        case "fallback":
            return {"x": x[:, 0].copy(), "b": np.array(length % 2 == 0)}
    return {"x": x[0] if length else np.ones(3, np.float32), "i": rng.integers(-3, 3, length)}


def save_model(name: str, folder: Path) -> Path:
    path = folder / f"{name}.sdx"
    save_compiled(parse_model(MODELS[name]), path)
    return path


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model("static", tmp_path_factory.mktemp("saved"))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_file_computes_the_results_of_the_native_engine(name: str, threads: int, tmp_path: Path) -> None:
    native = sx.Session(parse_model(MODELS[name]), engine="native", threads=threads)
    loaded = sx.Session(save_model(name, tmp_path), threads=threads)
    assert [(p.name, p.type) for p in loaded.inputs] == [(p.name, p.type) for p in native.inputs]
    assert [(p.name, p.type) for p in loaded.outputs] == [(p.name, p.type) for p in native.outputs]
    for length in (4, 1, 7, 7, 7, 7, 0):  # repeated lengths take the fast path
        feeds = feeds_of(name, length)
        expected, actual = native.run(feeds), loaded.run(feeds)
        assert list(expected) == list(actual)
        for key, value in expected.items():
            np.testing.assert_array_equal(actual[key], value)


def test_neither_llvm_nor_lowerings_are_imported(static: Path) -> None:
    code = (
        "import sys, numpy as np, sardonyx as sx\n"
        "sys.modules['llvmlite'] = None\n"  # importing it fails
        f"s = sx.Session({str(static)!r}, threads=2)\n"
        "for _ in range(4): y = s.run({'x': np.ones((2, 3), np.float32)})['y']\n"
        "print(y.tolist(), 'sardonyx._src.compile.lower.lowering' in sys.modules)"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == f"{[[15.0, 18.0, 21.0, 24.0]] * 2} False"


def test_sessions_of_a_file_are_pickled(static: Path) -> None:
    feeds = feeds_of("static", 0)
    session = sx.Session(static)
    restored = pickle.loads(pickle.dumps(session))
    np.testing.assert_array_equal(restored.run(feeds)["y"], session.run(feeds)["y"])


# --- unsupported uses and errors -------------------------------------------------------------------


def test_the_reference_engine_rejects_a_saved_program(static: Path) -> None:
    with pytest.raises(sx.SardonyxError, match="reference engine cannot run"):
        sx.Session(static, engine="reference")


def test_a_saved_program_has_no_nodes_to_trace(static: Path) -> None:
    with pytest.raises(sx.SardonyxError, match="no nodes"):
        sx.Session(static).trace(feeds_of("static", 0))


def test_an_index_out_of_range_is_an_error(tmp_path: Path) -> None:
    session = sx.Session(save_model("gather", tmp_path))
    with pytest.raises(sx.EvaluationError, match="out of range"):
        session.run({"x": np.ones(3, np.float32), "i": np.array([1, 3])})


def test_loops_are_limited(tmp_path: Path) -> None:
    session = sx.Session(save_model("loop", tmp_path), limits=sx.RunLimits(iterations=4))
    session.run(feeds_of("loop", 5))
    with pytest.raises(LimitError, match="the loop exceeds 4 iterations"):
        session.run(feeds_of("loop", 6))


def test_lengths_that_violate_constraints_are_an_error(tmp_path: Path) -> None:
    text = "g (float[N] x, float[M] y) => (float[K] z) { z = Add(x, y) }"
    save_compiled(parse_model(text), tmp_path / "m.sdx")
    with pytest.raises(sx.SardonyxError):
        sx.Session(tmp_path / "m.sdx").run({"x": np.ones(3, np.float32), "y": np.ones(2, np.float32)})


def test_feeds_must_match_the_declared_types(static: Path) -> None:
    session = sx.Session(static)
    with pytest.raises(sx.InputError, match="must have length 3"):
        session.run({"x": np.ones((2, 4), np.float32)})
    with pytest.raises(sx.InputError, match="no input 'v'"):
        session.run({"v": np.ones(3, np.float32)})


def test_an_input_with_a_default_is_a_constant(tmp_path: Path) -> None:
    text = "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }"
    save_compiled(parse_model(text), tmp_path / "m.sdx")
    session = sx.Session(tmp_path / "m.sdx")
    assert [port.name for port in session.inputs] == ["x"]
    np.testing.assert_array_equal(session.run({"x": np.zeros(2, np.float32)})["y"], [1, 2])


# --- damage ----------------------------------------------------------------------------------


def test_every_changed_byte_of_a_section_is_detected(static: Path, tmp_path: Path) -> None:
    content = static.read_bytes()
    first, length = SDX_HEADER.unpack_from(content)[3:5]
    document = json.loads(content[first : first + length])
    covered = [range(SDX_HEADER.size), range(first, first + length)]
    covered += [range(offset, offset + size) for offset, size, _ in document["sections"].values()]
    constants, constants_size, _ = document["sections"]["constants"]
    offsets = [
        *range(SDX_HEADER.size),
        constants,
        constants + constants_size - 1,
        *random.Random(0).sample([i for r in covered for i in r], 200),
    ]
    damaged = tmp_path / "m.sdx"
    for offset in offsets:
        damaged.write_bytes(
            content[:offset] + bytes([content[offset] ^ 1 << offset % 8]) + content[offset + 1 :]
        )
        with pytest.raises(sx.DecodeError, match=r"m\.sdx"):
            sx.Session(damaged)


def test_a_truncated_file_is_detected(static: Path, tmp_path: Path) -> None:
    content = static.read_bytes()
    damaged = tmp_path / "m.sdx"
    for size in [
        0,
        1,
        SDX_HEADER.size - 1,
        SDX_HEADER.size,
        *range(SDX_HEADER.size, len(content), 499),
        len(content) - 1,
    ]:
        damaged.write_bytes(content[:size])
        with pytest.raises(sx.DecodeError):
            sx.Session(damaged)


def write_changed(path: Path, target: Path, **changes: Json) -> Path:
    """Writes a copy of the file with other values in its document and a valid hash."""
    content = path.read_bytes()
    first, length = SDX_HEADER.unpack_from(content)[3:5]
    document = json.loads(content[first : first + length])
    sections = {
        name: content[offset : offset + size] for name, (offset, size, _) in document.pop("sections").items()
    }
    constants = np.frombuffer(sections.pop("constants"), np.uint8)
    container.write_container(target, [constants], lambda: ({**document, **changes}, sections))
    return target


@pytest.mark.parametrize(
    "changes",
    [
        {"functions": {"run": 1 << 40, "work": 0, "enter": 0}},
        {"functions": {"run": 0}},
        {"slots": {"system": 0}},
        {"slots": {"memset": 1 << 40}},
        {"others": []},
        {"others": [1 << 40]},
        {"others": [[99]]},
        {"others": [-1]},
        {"storages": [["arena", "a", 64, 1 << 40]]},
        {"storages": [["elsewhere", "a", 64, 0]]},
        {"storages": [["input", "a", [[4, ["K"]]], None]] * 9},
        {"constants": [[0, 1 << 40]]},
        {"constants": "none"},
        {"actions": [[0, []]]},
        {"actions": [["nowhere", None]]},
        {"actions": ["step"] * 1000},
        {"inputs": [["nowhere", None]]},
        {"outputs": []},
        {"fed": 99},
        {"size": 1 << 40},
        {"size": [1, 2]},
        {"lengths": [["N", "nowhere", 0]]},
        {"fields": [1]},
        {"interface": {}},
        {"arena_slots": 3},
        {"protocol": "another"},
        {"machine": 3},
    ],
)
def test_an_invalid_document_is_rejected(changes: dict[str, Json], static: Path, tmp_path: Path) -> None:
    with pytest.raises(sx.SardonyxError):
        sx.Session(write_changed(static, tmp_path / "m.sdx", **changes))


def test_the_error_names_missing_processor_features(static: Path, tmp_path: Path) -> None:
    path = write_changed(static, tmp_path / "m.sdx", features=["avx1024", "sse2", "teleport"])
    with pytest.raises(sx.UnsupportedProcessor, match="avx1024, teleport") as caught:
        sx.Session(path)
    assert {"avx1024", "teleport"} <= set(caught.value.features)


def test_a_file_for_another_architecture_is_rejected(static: Path, tmp_path: Path) -> None:
    with pytest.raises(sx.UnsupportedProcessor, match="riscv"):
        sx.Session(write_changed(static, tmp_path / "m.sdx", machine="riscv64"))


def test_the_host_has_the_features_required_by_its_own_code() -> None:
    assert set(features.required_features(host_target())) <= features.host_features()


# --- components -----------------------------------------------------------------------------------

N, M = symbol("N"), symbol("a name. with 0")


@pytest.mark.parametrize(
    "dim",
    [
        0,
        -3,
        N,
        2 * N * N - M + 7,
        ceil_div(N, 64),
        N % 5 + dim_max(N, M),
        dim_min(N * M, 512) // (N + 1),
        dim_max(N, M, 7),
        dim_min(N, M, N * M, 9),
    ],
    ids=str,
)
def test_dims_round_trip(dim: Known) -> None:
    assert decode_dim(json.loads(json.dumps(encode_dim(dim)))) == dim


@pytest.mark.parametrize(
    "encoded",
    [[[1, [["max", 3]]]], [[1, [["//", 3]]]], [[1, [["%", [[1, ["N"]]], 0]]]], [[1, [["+", 1, 2]]]]],
)
def test_a_dim_that_cannot_have_been_written_is_rejected(encoded: Json) -> None:
    with pytest.raises(sx.DecodeError):
        decode_dim(encoded)


def test_code_calls_system_functions_through_slots() -> None:
    text = """declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @fill(ptr %p, i64 %n) { call void @llvm.memset.p0.i64(ptr %p, i8 7, i64 %n, i1 0) ret void }"""
    image = link.link_objects([compile_module(text, host_target())] * 2, ["fill"])
    assert set(image.slots) == {"memset"}
    code = ExecutableMemory(memoryview(bytes(image.code)), image.functions, image.slots)
    memory = np.zeros(9, np.uint8)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(code.addresses["fill"])(memory.ctypes.data, 8)
    assert memory.tolist() == [7] * 8 + [0]


def test_arm_relocations_encode_pages_and_distances() -> None:
    # adrp x0, 2 pages on; ldr q0, [x0, #0x120]; b back by 8 bytes: encoded as in the architecture's manual
    assert link.encode_aarch64(0x90000000, 275, 0x1004, 0x3120) == 0xD0000000
    assert link.encode_aarch64(0x3DC00000, 299, 0x1008, 0x3120) == 0x3DC04800
    assert link.encode_aarch64(0x14000000, 282, 0x1008, 0x1000) == 0x17FFFFFE
    assert link.aarch64_stub(0x1010, 0x1008)[4:] == struct.pack("<II", 0xF9400610, 0xD61F0200)
