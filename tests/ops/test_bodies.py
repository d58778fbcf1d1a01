"""Properties of bodies that no case of an operator covers: random bodies, and calls with unknown types."""

from collections.abc import Mapping

import numpy as np
import pytest

from cases import Case, inference_of, model_of
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InferenceError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, TensorType, Type
from sardonyx._src.ops.bind import default_of, schema_of
from sardonyx._src.ops.function_bodies import body_of
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import exact

F = np.float32


def draw_bernoulli(chances: Array, version: int, **attributes: object) -> Array:
    """The output of the body of Bernoulli."""
    model = model_of(case := Case("Bernoulli", version, [chances], [...], attributes))
    (node,) = model.graph.nodes
    op = find("", "Bernoulli")
    assert op is not None
    schema = schema_of(node, model.opset_imports)
    function = body_of(op, inference_of(case, node, schema, model, known=True))
    assert function is not None
    model.functions["", "Bernoulli", ""] = function
    (result,) = Interpreter(model, seed=7).run({"x0": chances}).values()
    assert isinstance(result, np.ndarray)
    return result


@pytest.mark.parametrize("version", [15, 22])
@pytest.mark.parametrize("dtype", [np.float16, F, np.float64])
def test_bernoulli_draws_as_often_as_the_chance_says(version: int, dtype: type[np.generic]) -> None:
    count = 10_000
    draws = draw_bernoulli(np.full(count, 0.25, dtype), version)
    assert draws.dtype == dtype
    assert set(np.unique(draws).tolist()) == {0.0, 1.0}
    deviation = np.sqrt(0.25 * 0.75 / count)
    assert abs(draws.astype(np.float64).mean() - 0.25) < 5 * deviation


def test_bernoulli_is_certain_at_both_ends() -> None:
    chances = np.repeat(np.array([0, 1], np.float16), 5000)
    np.testing.assert_array_equal(draw_bernoulli(chances, 22, dtype=7), np.repeat([0, 1], 5000))


def test_bernoulli_repeats_itself_by_its_seed() -> None:
    chances = np.full(100, 0.5, F)
    first, second = (draw_bernoulli(chances, 22, seed=seed, dtype=9) for seed in (3.0, 3.0))
    assert first.dtype == bool
    np.testing.assert_array_equal(first, second)
    assert (first != draw_bernoulli(chances, 22, seed=4.0, dtype=9)).any()


def inference_for(
    op_type: str, version: int, inputs: list[Type | None], attributes: Mapping[str, object]
) -> Inference:
    schema = exact("", op_type, version)
    assert schema is not None
    given = {a.name: default_of(a) for a in schema.attributes.values() if a.default is not None}
    return Inference(op_type, version, inputs, [True] * len(inputs), given | dict(attributes), outputs=1)


def floats(*shape: int | None) -> TensorType:
    return TensorType(DataType.FLOAT, shape)


@pytest.mark.parametrize(
    ("op_type", "version", "inputs", "attributes", "message"),
    [
        ("Elu", 6, [None], {}, "the element type of input 0 must be known"),
        ("CastLike", 19, [floats(), None], {}, "the element type of input 1 must be known"),
        ("LayerNormalization", 17, [TensorType(DataType.FLOAT)] * 2, {"axis": 1}, "the rank of input 0"),
        (
            "AffineGrid",
            20,
            [floats(None, None, None), None],
            {},
            "the number of spatial axes must be known and 2 or 3",
        ),
        (
            "CausalConvWithState",
            27,
            [floats(1, None, 4), None],
            {},
            "the number of channels must be known for a function body",
        ),
        (
            "Attention",
            23,
            [floats(1, 1, 1, 1)] * 3,
            {"qk_matmul_output_mode": 4},
            "qk_matmul_output_mode must be 0, 1, 2 or 3; got 4",
        ),
    ],
)
def test_bodies_report_what_must_be_known(
    op_type: str, version: int, inputs: list[Type | None], attributes: dict[str, object], message: str
) -> None:
    op = find("", op_type)
    assert op is not None
    with pytest.raises(InferenceError, match=message):
        body_of(op, inference_for(op_type, version, inputs, attributes))


def test_a_rank_is_not_needed_where_axes_count_from_the_back() -> None:
    op = find("", "LayerNormalization")
    assert op is not None
    assert (
        body_of(op, inference_for("LayerNormalization", 17, [TensorType(DataType.FLOAT)] * 2, {"axis": -1}))
        is not None
    )
