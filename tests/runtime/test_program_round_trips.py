"""Programs that are written read back, and run as compiled: each kind of thing in a document, official cases, random graphs.

`make fuzz` takes more cases of each operator; a factor of 100 takes all.
"""

from __future__ import annotations

import itertools
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from compile.random_layers import sample
from conformance.inference import with_variables
from conformance.official import OfficialCase, assert_case_passes, official_cases
from models import parse_model
from sampling import FACTOR, seed_range
from sardonyx._src.compile.linker import features
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.encoding.size_functions import sized_values
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.io import file_stamps
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Expr, Known
from sardonyx._src.ir.dims.atoms import DimCall
from sardonyx._src.runtime.engine import shared_programs
from sardonyx._src.runtime.saved_programs import disk_cache
from sardonyx._src.runtime.saved_programs.disk_cache import CachedEngine
from sardonyx._src.runtime.saved_programs.writing import save_compiled

pytestmark = pytest.mark.skipif(
    features.saved_program_machine() is None, reason="the machine has no saved programs"
)

GROUPS = 4  # of official cases, for parallel runs
CASES_PER_OPERATOR = 1  # at least
SPARSE = "@{sparse_initializer: [{dims: [3], values: float[1] w {5}, indices: int64[1] {1}}]}"
LOOP = """y, z = Loop <body = each (int64 i, bool on, float[N,3] s) => (bool goes, float[N,3] t, float[N,3] a) {
    goes = Identity(on)  a = Sub(x, s)  t = Tanh(a)
  }> (m, , x)"""
MODELS = {
    "constant": "g (float[N,3] x) => (float[N,3] y) <float[3] b = {1, 2, 3}> { y = Add(x, b) }",
    "packed constant": "g (float[N,3] x) => (float[N,2] y) <float[3,2] b = {1, 2, 3, 4, 5, 6}> { y = MatMul(x, b) }",
    "empty constant": """g (float[N,3] x) => (float[M,3] y) <float[0,3] b = {}, float[3] w = {1, 2, 3}> {
      a = Add(x, w)  y = Concat <axis = 0> (a, b) }""",
    "sparse constant": f"g {SPARSE} (float[N,3] x) => (float[N,3] y) {{ y = Add(x, w) }}",
    "sparse default": f"g {SPARSE} (float[N,3] x, float[3] w) => (float[N,3] y) {{ y = Add(x, w) }}",
    "sparse default of a fallback": f"""g {SPARSE} (float[N,3] x, float[3] w) => (float[N,3] y, int64[1,A] z)
      {{ y = Add(x, w)  z = NonZero(w) }}""",
    "sparse default in a branch": f"""g {SPARSE} (float[N,3] x, float[3] w) => (float[N,3] y) {{
      n = Size(x)  three = Constant <value_int = 3> ()  b = Greater(n, three)
      y = If (b) <then_branch = p () => (float[N,3] u) {{ u = Add(x, w) }}, else_branch = q () => (float[N,3] v) {{ v = Sub(x, w) }}> }}""",
    "output that is an input": "g (float[N,3] x) => (float[N,3] x, float[N,3] y) { y = Neg(x) }",
    "output that is a constant": "g (float[N,3] x) => (float[2] c, float[N,3] y) <float[2] c = {1, 2}> { y = Neg(x) }",
    "fallback": "g (float[N,3] x) => (float y) { a = Neg(x)  b = NonZero(a)  c = Cast <to = 1> (b)  y = ReduceSum <keepdims = 0> (c) }",
    "fallback read by a kernel": "g (float[N,3] x) => (float[N,3] y) { a = Neg(x)  s = Hardmax(a)  y = Add(s, x) }",
    "sizes": "g (float[N,3] x) => (int64[2] y, float[N,3] z) { y = Shape(x)  z = Neg(x) }",
    "division of sizes": "g (float[N,3] x) => (float[A,3] y) <int64[1] s = {0}, int64[1] e = {9999}, int64[1] a = {0}, int64[1] t = {2}> { b = Slice(x, s, e, a, t)  y = Neg(b) }",
    "remainder of sizes": """g (float[N,3] x) => (float[A,3] y) <int64[1] s = {0}, int64[1] a = {0}, int64 two = {2}, int64[1] one = {1}, int64 zero = {0}> {
      n = Shape <end = 1> (x)  m = Mod(n, two)  e = Add(m, one)  b = Slice(x, s, e, a)  y = Neg(b) }""",
    "maximum of three sizes": """g (float[N,3] x) => (float[A] y) <float[1] f = {1}, int64[1] two = {2}, int64[1] three = {3}, int64[1] nine = {9}> {
      n = Shape <end = 1> (x)  m = Mul(n, two)  p = Sub(nine, n)  k = Max(n, p, three)  e = Expand(f, k)  y = Neg(e) }""",
    "guard": """g (float[N,3] x) => (float[N,3] y) <int64[1] s = {0}, int64[1] e = {512}, int64[1] a = {0}> {
      b = Slice(x, s, e, a)  y = Add(b, x) }""",
    "loop": f"g (float[N,3] x, int64 m) => (float[N,3] y) {{ {LOOP} }}",
    "scan output": f"g (float[N,3] x, int64 m) => (float[N,3] y, float[A,N,3] z) {{ {LOOP} }}",
    "scan output read by a kernel": f"g (float[N,3] x, int64 m) => (float[A,N,3] w) {{ {LOOP}  w = Neg(z) }}",
    "static": "g (float[4,3] x) => (float[4,3] y) { y = Neg(x) }",
    "function": """g (float[N,3] x) => (string[N,3] y) { i = Cast <to = 7> (x)  y = my.f <names = ["a", "b"]> (i) }
      <domain: "my", opset_import: ["ai.onnx.ml": 1]> f <names> (a) => (b) { b = ai.onnx.ml.LabelEncoder <classes_strings: strings = @names> (a) }""",
    "strings": "g (float[N,3] x) => (string[N,3] y) { y = Cast <to = 8> (x) }",
}
KINDS = {
    *("Step", "FallbackOp", "CopyIn", "BindSizes", "CollectScanOutputs"),  # actions
    *("arena", "input", "output", "constant", "lazy constant", "empty constant", "status"),  # buffers
    *("//", "%", "max", "min", "3 arguments"),  # dims
    *("guard", "slot of the arena", "static", "computed slot", "fallback output", "function"),
}


def feeds_of(model: sx.Model, rows: int) -> dict[str, Array]:
    x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
    values = {"x": x, "m": np.array(rows)}
    return {v.name: values[v.name] for v in model.graph.inputs if v.initializer is None}


def kinds_of(executable: Executable) -> Iterator[str]:
    """The kinds of things that the document of a program has."""
    program, plan = executable.program, executable.plan
    tensors = [t for action in program.actions for t in (*action.reads, *action.writes)]
    dims: list[Known] = [*sized_values(executable.encoding)]
    for action in program.actions:
        yield type(action).__name__
    for tensor in (*tensors, *program.inputs.values(), *filter(None, program.outputs.values())):
        yield tensor.buffer.role
        dims += (*tensor.shape, *tensor.strides, tensor.buffer.size)
        content = tensor.buffer.content
        if isinstance(content, LazyConstant):
            yield "lazy constant"
        elif content is not None and content.nbytes == 0:
            yield "empty constant"
    for dim in dims:
        yield from calls_in(dim)
    is_true = {
        "guard": program.guards,
        "slot of the arena": plan.slots,
        "static": program.is_static,
        "computed slot": sized_values(executable.encoding),
        "fallback output": None in program.outputs.values(),
        "function": program.model.functions,
    }
    yield from (name for name, holds in is_true.items() if holds)


def calls_in(dim: Known) -> Iterator[str]:
    for atom in itertools.chain(*dim.terms) if isinstance(dim, Expr) else ():
        if isinstance(atom, DimCall):
            yield atom.op
            if len(atom.args) > 2:
                yield f"{len(atom.args)} arguments"
            for arg in atom.args:
                yield from calls_in(arg)


def model_named(name: str) -> sx.Model:
    return parse_model(MODELS[name], opset=21, more='"my": 1, "ai.onnx.ml": 4')


def test_the_models_have_every_kind() -> None:
    executables = (compile_model(model_named(name), host_target()) for name in MODELS)
    assert {kind for executable in executables for kind in kinds_of(executable)} == KINDS


@pytest.mark.parametrize("name", MODELS)
def test_a_kind_is_read_as_it_was_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(file_stamps, "RACY_WINDOW", -(1 << 62))
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    sx.save(model_named(name), tmp_path / "m.onnx")
    save_compiled(model_named(name), tmp_path / "m.sdx")
    reference = sx.Session(model_named(name), engine="reference")
    with caplog.at_level(logging.WARNING):
        starts = [start_session(tmp_path / "m.onnx") for _ in range(2)]
    assert not caplog.records  # no entry is damaged
    assert name == "function" or all(isinstance(s._runner, CachedEngine) for s in starts)
    compiled = sx.Session(model_named(name), engine="native", threads=1)
    for rows in (4, 4) if name == "static" else (4, 1, 5, 5, 5, 5):
        feeds = feeds_of(reference.model, rows)
        expected = compiled.run(feeds)
        assert_close(expected, reference.run(feeds))
        for session in (*starts, sx.Session(tmp_path / "m.sdx", threads=1)):
            assert_equal(session.run(feeds), expected)


def start_session(path: Path) -> sx.Session:
    """A session as in a new process: no program is shared with earlier sessions."""
    shared_programs.SHARED_PROGRAMS.clear()
    disk_cache.OPEN_PROGRAMS.clear()
    return sx.Session(path, engine="native", threads=1)


def assert_equal(actual: Mapping[str, object], expected: Mapping[str, object]) -> None:
    assert list(actual) == list(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(np.asarray(actual[name]), np.asarray(value), name)


def assert_close(actual: Mapping[str, object], expected: Mapping[str, object]) -> None:
    for name, value in expected.items():
        array = np.asarray(value)
        if array.dtype.kind == "f":
            np.testing.assert_allclose(np.asarray(actual[name]), array, 1e-5, 1e-6, err_msg=name)
        else:
            np.testing.assert_array_equal(np.asarray(actual[name]), array, name)


# --- samples ---------------------------------------------------------------------------------


def sampled_cases() -> list[OfficialCase]:
    """Official cases in which every operator occurs as often as the factor says; networks are among the last."""
    counts: Counter[tuple[str, str]] = Counter()
    result = []
    for case in official_cases():
        operators = {(node.domain, node.op_type) for node in case.load().graph.nodes}
        least = min(map(counts.__getitem__, operators), default=0)
        if case.kind != "real" and least < CASES_PER_OPERATOR * FACTOR:
            counts.update(operators)
            result.append(case)
    return result


@pytest.mark.parametrize("group", range(GROUPS))
def test_official_cases_pass_from_files(group: int, tmp_path: Path) -> None:
    def open_saved(model: sx.Model) -> sx.Session:
        save_compiled(model, tmp_path / "m.sdx")
        return sx.Session(tmp_path / "m.sdx", threads=1)

    for case in sampled_cases()[group::GROUPS]:
        model = case.load()
        with_variables(model, shared=len(case.name) % 2 == 0)
        assert_case_passes(case, open_session=open_saved)
        assert_case_passes(case, model, open_session=open_saved)


@pytest.mark.parametrize("first", seed_range(60_000, 30, 10))
def test_random_graphs_compute_the_same_from_files(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 10):
        graph = sample(seed)
        save_compiled(graph.model, tmp_path / "m.sdx")
        compiled, saved = sx.Session(graph.model, engine="native"), sx.Session(tmp_path / "m.sdx")
        for feeds in graph.feeds:
            bailouts = sum(compiled.stats.bailouts.values())
            expected = compiled.run(feeds)
            if sum(compiled.stats.bailouts.values()) == bailouts:  # a file has no reference engine
                assert_equal(saved.run(feeds), expected)
