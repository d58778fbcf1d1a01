"""The cases of every operator on the native engine: results of the reference engine, or its error."""

from __future__ import annotations

import pytest

from cases import Case, assert_same, model_of
from ops.test_coverage import cases
from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ops.registry import find
from sardonyx._src.runtime.engine.engine import NativeEngine


@pytest.mark.parametrize("case", cases(), ids=str)
def test_a_case_is_computed_natively(case: Case) -> None:
    op = find(case.domain, case.op)
    assert op is not None
    if op.is_random:
        pytest.skip("draws are not the same")
    model = model_of(case)
    feeds = {f"x{i}": value for i, value in enumerate(case.inputs) if value is not None or i in case.types}
    try:
        expected = Interpreter(model, seed=1).run(feeds)
    except SardonyxError as error:
        with pytest.raises(type(error)):
            NativeEngine(model, threads=1, seed=1).run(feeds)
        return
    outputs = NativeEngine(model, threads=1, seed=1).run(feeds)
    for name, value in expected.items():
        assert_same(outputs[name], value, exact=False, where=f"{case} {name}")
