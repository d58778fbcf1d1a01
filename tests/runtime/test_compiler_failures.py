"""Failures of the compiler: "auto" answers with a warning and a count, "native" raises a typed error."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.compile.layouts.assignment import LayoutAssignment
from sardonyx._src.compile.llvm import loaded_kernels
from sardonyx._src.compile.lower import driver as lowering_driver
from sardonyx._src.compile.lower import registry
from sardonyx._src.compile.partition import Region, Scope
from sardonyx._src.compile.partition.partitioner import partition
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine import driver
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.pattern import Pattern
from sardonyx._src.runtime.saved_programs import disk_cache, image
from sardonyx._src.runtime.saved_programs.writing import save_compiled
from sardonyx._src.runtime.session.session import Engine

F = np.float32
# Each test has operators or constants of its own: programs and kernels are shared in the process.
TEXT = """g (float[N,4] x) => (float[N,3] y, float[N,4] z) <float[4,3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, {last}}}>
    {{ m = MatMul(x, w)  y = Relu(m)  z = Softmax(x) }}"""
COUNT = iter(range(12, 10_000))


@pytest.fixture(autouse=True)
def tolerant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Defects are made good, as for users."""
    monkeypatch.delenv("SARDONYX_FATAL_DEFECTS", raising=False)


def new_text() -> str:
    """The text of a model that no session has compiled."""
    return TEXT.format(last=next(COUNT))


ENGINES: tuple[Engine, ...] = ("auto", "native")
FEEDS = {"x": np.random.default_rng(0).standard_normal((2, 4)).astype(F)}


def raise_defect(*_: object, **__: object) -> NoReturn:
    raise AssertionError("the tile has 0 rows")


def assert_answers(text: str, feeds: dict[str, np.ndarray] = FEEDS) -> sx.Session:
    """Asserts that "auto" answers as the reference engine does, with one warning and a count; returns the session."""
    expected = sx.Session(parse_record(text), engine="reference").run(feeds)
    with pytest.warns(sx.CompilerWarning, match="please report it") as caught:  # noqa: PT031
        session = sx.Session(parse_record(text), engine="auto", threads=1)
        for _ in range(3):
            results = session.run(feeds)
    assert len(caught) == 1 and caught[0].filename == __file__
    for name, array in expected.items():
        np.testing.assert_allclose(np.asarray(results[name]), np.asarray(array), rtol=1e-5)
    assert session.stats.compiler_faults
    return session


def assert_refuses(text: str, feeds: dict[str, np.ndarray] = FEEDS) -> None:
    with pytest.raises(sx.CompilationError, match="the tile has 0 rows") as caught:
        sx.Session(parse_record(text), engine="native", threads=1).run(feeds)
    assert isinstance(caught.value.__cause__, AssertionError)


PIPELINE = "sardonyx._src.compile.pipeline."
STAGES = {
    "prepare": PIPELINE + "prepare_model",
    "convert": "sardonyx._src.compile.prepare.prepare.upgrade_opset",
    "optimize": "sardonyx._src.compile.prepare.prepare.run_passes",
    "infer": "sardonyx._src.compile.prepare.prepare.infer_types",
    "promote": "sardonyx._src.compile.prepare.prepare.promote_half_precision",
    "partition": PIPELINE + "partition",
    "match": "sardonyx._src.compile.partition.partitioner.partition.find_region",
    "assign_layouts": PIPELINE + "assign_layouts",
    "place": "sardonyx._src.compile.layouts.assignment.LayoutAssignment.place_kernel",
    "lower": PIPELINE + "lower",
    "lower a region": "sardonyx._src.compile.lower.driver.lowering_of",
    "plan_memory": PIPELINE + "plan_memory",
    "encode": PIPELINE + "encode_program",
    "declarations": "sardonyx._src.runtime.declarations.declaration_analysis.analyze_declarations",
    "size function": "sardonyx._src.runtime.programs.compiled_addresses.SizeFunctionLoader.load",
    "compile": "sardonyx._src.compile.llvm.jit.object_code",
    "link": "sardonyx._src.compile.llvm.loaded_kernels.kernel_code",
    "bind": "sardonyx._src.runtime.runs.native_program.FallbackRunner",
    "relocate": "sardonyx._src.runtime.runs.native_program.find_relocations",
    "specialize": "sardonyx._src.runtime.runs.execution_context.ExecutionContext.specialize",
    "execute": "sardonyx._src.runtime.runs.execution_context.ExecutionContext.execute",
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_failure_of_any_stage_is_made_good(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded_kernels, "LOADED", {})  # so that kernels are loaded again
    monkeypatch.setattr(STAGES[stage], raise_defect)
    text = new_text()
    assert_answers(text)
    assert_refuses(text)


@pytest.mark.parametrize(("builder", "length"), [("SizedPath", "N"), ("build_fast_path", "2")])
def test_the_fast_path_is_optional(builder: str, length: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"sardonyx._src.runtime.runs.execution_context.{builder}", raise_defect)
    session = assert_answers(new_text().replace("[N,", f"[{length},"))
    assert session.engine == "native" and session.stats.fast_path_runs == 0


@pytest.mark.parametrize("stage", ["partition", "assign_layouts", "lower"])
def test_only_the_node_at_fault_becomes_a_fallback(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if stage == "partition":
        original = partition.find_region

        def find_region(scope: Scope, node: Node) -> object:
            result = original(scope, node)
            return fail() if node.op_type == "Softmax" and node not in scope.refused else result

        monkeypatch.setattr(partition, "find_region", find_region)
    elif stage == "assign_layouts":
        place_kernel = LayoutAssignment.place_kernel

        def place(self: LayoutAssignment, region: Region[object]) -> None:
            fail() if region.anchor.op_type == "Softmax" else place_kernel(self, region)

        monkeypatch.setattr(LayoutAssignment, "place_kernel", place)
    else:
        find = registry.lowering_of
        monkeypatch.setattr(
            lowering_driver, "lowering_of", lambda kind: fail if kind == "Softmax" else find(kind)
        )
    session = assert_answers(new_text())
    assert session.engine == "native" and session.stats.fallback_nodes == 1
    [(fault, count)] = session.stats.compiler_faults.items()
    assert count == 1 and "(Softmax)" in fault and f"{stage}: KeyError: 'axis'" in fault


def fail(*_: object) -> NoReturn:
    raise KeyError("axis")


def test_a_program_with_a_failure_is_neither_shared_nor_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.onnx"
    sx.save(parse_model(new_text()), path)
    with monkeypatch.context() as context:
        find = registry.lowering_of
        context.setattr(
            lowering_driver, "lowering_of", lambda kind: fail if kind == "Softmax" else find(kind)
        )
        for _ in range(2):
            with pytest.warns(sx.CompilerWarning):
                assert sx.Session(path).stats.fallback_nodes == 1
    session = sx.Session(path, engine="native")
    assert (session.stats.fallback_nodes, session.stats.compiler_faults) == (0, {})


def test_a_cached_program_that_cannot_be_bound_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("sardonyx._src.io.file_stamps.RACY_WINDOW", -1)
    path = tmp_path / "m.onnx"
    sx.save(parse_model(new_text()), path)
    expected = sx.Session(path).run(FEEDS)
    with monkeypatch.context() as context:
        context.setattr(disk_cache, "SavedProgram", raise_defect)
        with pytest.warns(sx.CompilerWarning, match="bind a cached program") as caught:
            session = sx.Session(path)
        assert len(caught) == 1 and session.engine == "native"
        np.testing.assert_array_equal(session.run(FEEDS)["y"], expected["y"])


def test_an_entry_that_cannot_be_decoded_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("sardonyx._src.io.file_stamps.RACY_WINDOW", -1)
    path = tmp_path / "m.onnx"
    sx.save(parse_model(new_text()), path)
    expected = sx.Session(path).run(FEEDS)
    disk_cache.OPEN_PROGRAMS.clear()
    monkeypatch.setattr(image, "read_image", raise_defect)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for engine in ENGINES:
            np.testing.assert_array_equal(sx.Session(path, engine=engine).run(FEEDS)["y"], expected["y"])


def test_a_saved_program_that_cannot_be_opened_is_a_typed_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_compiled(parse_model(new_text()), tmp_path / "m.sdx")
    monkeypatch.setattr(image, "read_image", raise_defect)
    with pytest.raises(sx.CompilationError, match="open a saved program"):
        sx.Session(tmp_path / "m.sdx")
    monkeypatch.setattr("sardonyx._src.compile.pipeline.lower", raise_defect)
    with pytest.raises(sx.CompilationError, match="the tile has 0 rows"):
        save_compiled(parse_model(new_text()), tmp_path / "n.sdx")


def test_a_pass_that_fails_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    apply = driver.apply_pass

    def apply_pass(
        loaded: driver.LoadedPass, node: Node, alternatives: Sequence[Pattern], edit: Edit
    ) -> bool:
        return fail() if node.op_type == "Softmax" else apply(loaded, node, alternatives, edit)

    monkeypatch.setattr(driver, "apply_pass", apply_pass)
    session = assert_answers(new_text())
    assert session.engine == "native" and session.stats.fallback_nodes == 0
    assert all("optimize, pass " in fault for fault in session.stats.compiler_faults)


def test_failures_are_fatal_where_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SARDONYX_FATAL_DEFECTS", "1")
    monkeypatch.setattr("sardonyx._src.compile.pipeline.lower", raise_defect)
    for engine in ENGINES:
        with pytest.raises(AssertionError, match="the tile has 0 rows"):
            sx.Session(parse_record(new_text()), engine=engine)


# --- failures of the past -------------------------------------------------------------------


def nested_branches(depth: int) -> str:
    body = "y0 = Neg(x)"
    for i in range(1, depth + 1):
        body = (
            f"y{i} = If(b) <then_branch = t{i} () => (float[N] y{i - 1}) {{ {body} }}, "
            f"else_branch = e{i} () => (float[N] q{i}) {{ q{i} = Identity(x) }}>"
        )
    return f"g (bool b, float[N] x) => (float[N] y{depth}) {{ {body} }}"


@pytest.mark.filterwarnings("ignore::sardonyx.CompilerWarning")
@pytest.mark.parametrize("operator", ["Sum", "Max"])
def test_an_operator_of_many_inputs(operator: str) -> None:
    text = f"g (float[2] x) => (float[2] y) {{ y = {operator}({', '.join(['x'] * 5000)}) }}"
    feeds = {"x": np.array([1, 2], F)}
    factor = 5000 if operator == "Sum" else 1
    np.testing.assert_array_equal(sx.Session(parse_record(text)).run(feeds)["y"], [factor, 2 * factor])
    try:
        result = sx.Session(parse_record(text), engine="native").run(feeds)["y"]
    except sx.SardonyxError:
        return  # typed
    np.testing.assert_array_equal(result, [factor, 2 * factor])


@pytest.mark.parametrize("engine", ["auto", "native"])
def test_deeply_nested_branches(engine: Engine) -> None:
    session = sx.Session(parse_record(nested_branches(100), opset=17), engine=engine)
    result = session.run({"x": np.array([1, -2], F), "b": np.array(True)})
    np.testing.assert_array_equal(np.asarray(result["y100"]), [-1, 2])
    assert session.stats.compiler_faults == {}


@pytest.mark.parametrize("engine", ["auto", "native"])
@pytest.mark.parametrize(
    "bounds", [("nan", "10", "1"), ("0", "10", "nan"), ("0", "inf", "1"), ("0", "10", "inf")]
)
def test_a_range_of_no_numbers_is_refused(bounds: tuple[str, str, str], engine: Engine) -> None:
    start, limit, delta = bounds
    text = f"""g (float[2] x) => (float[N] y)
      <float a = {{{start}}}, float b = {{{limit}}}, float c = {{{delta}}}> {{ y = Range(a, b, c) }}"""
    model = parse_record(text, opset=11)

    def run(engine: Engine) -> object:
        try:
            return np.asarray(sx.Session(model, engine=engine).run({"x": np.ones(2, F)})["y"]).tolist()
        except sx.SardonyxError as error:
            return type(error)

    assert run(engine) == run("reference")


@pytest.mark.parametrize("engine", ["auto", "native"])
@pytest.mark.parametrize("opset", [10, 13, 19, 21])
def test_a_quantization_that_cannot_be_upgraded(
    opset: int, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SARDONYX_FATAL_DEFECTS", "1")
    monkeypatch.setattr("sardonyx._src.compile.prepare.prepare.upgrade_opset", lambda model: model)
    last = next(COUNT)
    text = f"g (float[N] x) => (uint8[N] y) <float s = {{{last}}}, uint8 z = {{3}}> {{ y = QuantizeLinear(x, s, z) }}"
    result = sx.Session(parse_record(text, opset=opset), engine=engine).run({"x": np.array([0, last], F)})
    np.testing.assert_array_equal(np.asarray(result["y"]), [3, 4])
