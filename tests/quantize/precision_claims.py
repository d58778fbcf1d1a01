"""What every model in half precision must be: valid, typed, with the same interface, and within its bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sardonyx as sx
from sardonyx._src.dtypes import DataType
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.infer.stated_types import all_values
from sardonyx._src.infer.walk import infer
from sardonyx._src.ir import Model
from sardonyx._src.ir.verify import verify
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.calibration import CalibrationData
from sardonyx._src.quantize.precision.element_types import dtype_of
from sardonyx._src.quantize.precision.repair import missed_outputs
from sardonyx._src.quantize.precision.value_errors import value_errors
from sardonyx._src.quantize.preparation import prepare
from sardonyx._src.quantize.schemes.precision import BOUNDS
from sardonyx._src.quantize.schemes.scheme import LayerPatterns, SchemeResult, SchemeSettings
from sardonyx._src.quantize.schemes.table import SCHEMES

TARGETS = {"float16": DataType.FLOAT16, "bfloat16": DataType.BFLOAT16, "float32": DataType.FLOAT}


def change(
    model: Model, scheme: str, runs: Sequence[Mapping[str, RuntimeValue]], **settings: object
) -> SchemeResult:
    """The result of a scheme, without measurements of time."""
    chosen = SchemeSettings(scheme, LayerPatterns(), True, ignore, **settings)  # type: ignore[arg-type]
    prepared = prepare(model, SCHEMES[scheme].operator_set)
    return SCHEMES[scheme].load()(prepared, CalibrationData(tuple(runs), False), chosen)


def ignore(done: int, total: int) -> None:
    """No progress is shown."""


def has_floats(model: Model, dtypes: Sequence[DataType] = (DataType.FLOAT,)) -> bool:
    """Whether a value of a model has one of these element types."""
    return any(dtype_of(value.type) in dtypes for value in all_values(infer(model.copy())))


def assert_holds(
    model: Model, result: SchemeResult, scheme: str, runs: Sequence[Mapping[str, RuntimeValue]]
) -> None:
    """Asserts that a result is well formed, typed, valid where the model was, has its interface, and holds the bound.

    An output beyond the bound must be named.
    """
    verify(result.model)
    infer(result.model.copy())
    before = {finding.rule for finding in sx.check(model).of("error")}
    assert [str(f) for f in sx.check(result.model).of("error") if f.rule not in before] == []
    assert interface(result.model) == interface(model)
    if scheme in ("float16", "bfloat16"):
        errors = value_errors(
            without_gradient_nodes(model), result.model, CalibrationData(tuple(runs), False)
        )
        missed = missed_outputs(model, errors, BOUNDS[TARGETS[scheme]])
        assert missed == [
            item.layer for item in result.kept if item.why == "this output is not within the bound"
        ]
        assert missed == [], "with the types of inputs and outputs kept, float32 everywhere is possible"


def interface(model: Model) -> list[tuple[str, str]]:
    """Names and types of inputs and outputs, without constants that old files list among the inputs."""
    graph = model.graph
    inputs = [value for value in graph.inputs if value.initializer is None]
    return [(value.name, str(value.type)) for value in (*inputs, *graph.outputs)]
