"""Every elementwise operator in every version takes every element type that the version's signature allows."""

from collections.abc import Iterator

import numpy as np
import pytest

from cases import Case, assert_inference_fits, model_of
from sardonyx._src.dtypes import DataType
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.registry import operators
from sardonyx._src.schema import OpSchema, lookup

ATTRIBUTES: dict[str, dict[str, object]] = {
    "BitShift": {"direction": "LEFT"},
    "Mod": {"fmod": 1},
    "ParametricSoftplus": {"alpha": 2.0, "beta": 1.0},
    "ScaledTanh": {"alpha": 2.0, "beta": 1.0},
}
SCALARS = {("Clip", 1), ("Clip", 2)}  # inputs that have to be scalars


def elementwise_operators() -> list[Operator]:
    return [op for op in operators() if op.elementwise and op.module.startswith("sardonyx._src.ops.math.")]


def signature_types() -> Iterator[tuple[OpSchema, dict[str, DataType]]]:
    """Signatures with one choice of types: each allowed type of each constraint, the others at their first."""
    for op in elementwise_operators():
        for version in op.kernels:
            schema = lookup(op.domain, op.name, version)
            assert schema is not None, f"{op.name}-{version} has a kernel and no signature"
            choices = {
                name: [DataType.parse(text.removeprefix("tensor(").removesuffix(")")) for text in allowed]
                for name, allowed in schema.type_constraints.items()
            }
            first = {name: types[0] for name, types in choices.items()}
            for name, types in choices.items():
                for dtype in types:
                    yield schema, {**first, name: dtype}


def operand(schema: OpSchema, index: int, types: dict[str, DataType]) -> Array:
    name = schema.inputs[index].type
    dtype = types[name] if name in types else DataType.parse(name.removeprefix("tensor(").removesuffix(")"))
    shape = () if (schema.name, index) in SCALARS else (2, 3)
    if dtype is DataType.STRING:
        return np.full(shape, "a", object)
    return np.ones(shape, np.float32).astype(dtype.numpy)


def types_id(schema: OpSchema, types: dict[str, DataType]) -> str:
    return f"{schema.name}-{schema.since_version} " + " ".join(t.text for t in types.values())


SIGNATURE_TYPES = list(signature_types())


@pytest.mark.parametrize(("schema", "types"), SIGNATURE_TYPES, ids=[types_id(*q) for q in SIGNATURE_TYPES])
def test_every_allowed_type_gives_the_type_that_the_signature_says(
    schema: OpSchema, types: dict[str, DataType]
) -> None:
    inputs = [operand(schema, i, types) for i in range(len(schema.inputs))]
    attributes = ATTRIBUTES.get(schema.name, {})
    case = Case(schema.name, schema.since_version, inputs, [...], attributes)
    model = model_of(case)
    (result,) = Interpreter(model).run({f"x{i}": x for i, x in enumerate(inputs)}).values()
    assert isinstance(result, np.ndarray)
    output = schema.outputs[0].type
    assert result.dtype == types[output].numpy
    assert result.shape == (2, 3)
    assert_inference_fits(case, model, [result])


def test_rank_0_stays_rank_0() -> None:
    for schema, types in SIGNATURE_TYPES:
        inputs = [operand(schema, i, types).reshape(-1)[:1].reshape(()) for i in range(len(schema.inputs))]
        case = Case(schema.name, schema.since_version, inputs, [...], ATTRIBUTES.get(schema.name, {}))
        (result,) = Interpreter(model_of(case)).run({f"x{i}": x for i, x in enumerate(inputs)}).values()
        assert isinstance(result, np.ndarray), schema.name
        assert result.shape == () and result.dtype == types[schema.outputs[0].type].numpy, schema.name
