"""The stages of sessions have equal bits for every case and model: kernels that LLVM compiles, those of a library, and
those that the interpreter of a library computes.

The library has the first code of each name, whichever case it is from, and a name has one text in all cases.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import sardonyx as sx
from cases import assert_same
from compile.library_kernels import (
    assert_one_text,
    interpreted_kernels,
    library_kernels,
    recorded_kernels,
)
from conformance.official import OfficialCase, official_cases
from conformance.test_shared_models import FOLDERS, MODELS, VENDOR, reference
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.errors import UnsupportedOperator
from sardonyx._src.ir import Model
from sardonyx._src.runtime.engine.engine import NativeEngine

SEED = 1  # of random operators


@pytest.mark.parametrize("case", official_cases(), ids=str)
def test_an_official_case_has_equal_bits_in_every_stage(case: OfficialCase) -> None:
    model = case.load()
    for inputs, _ in case.data_sets(model):
        ports = [v for v in model.graph.inputs if v.initializer is None or case.kind != "real"]
        assert_stages_equal(model, dict(zip((v.name for v in ports), inputs, strict=False)))


@pytest.mark.skipif(not FOLDERS, reason="the shared models are not available")
@pytest.mark.parametrize("name", FOLDERS)
def test_a_shared_model_has_equal_bits_in_every_stage(name: str) -> None:
    try:
        assert_stages_equal(sx.load(MODELS / name / "model.onnx"), reference(MODELS / name)[0])
    except UnsupportedOperator as error:
        if error.domain not in VENDOR:
            raise
        pytest.skip(f"holds {error.domain}.{error.op_type}, an operator of a vendor")


def assert_stages_equal(model: Model, feeds: Mapping[str, object]) -> None:
    """Runs a model with compiled kernels, with those of the library, and with interpreted ones; twice each, the second time on the fast path."""
    if not host_target().class_name:
        pytest.skip("the processor is of no class, so that it has no library")
    with recorded_kernels():
        compiled = sx.Session(model, engine="native", seed=SEED, start="compiled")
        expected = [compiled.run(feeds) for _ in range(2)]
    assert isinstance(compiled._runner, NativeEngine)
    for kernel in compiled._runner.native.program.kernels:
        assert_one_text(kernel)
    with library_kernels():
        library = sx.Session(model, engine="native", seed=SEED)
        actual = [library.run(feeds) for _ in range(2)]
    assert (library.stats.library_kernels, library.stats.compiled_kernels) == (
        compiled.stats.compiled_kernels,
        0,
    )
    assert_same(actual, expected, exact=True, where="outputs")
    with interpreted_kernels():
        interpreted = sx.Session(model, engine="native", seed=SEED)
        actual = [interpreted.run(feeds) for _ in range(2)]
    assert_same(actual, expected, exact=True, where="outputs of interpreted kernels")
