"""AffineGrid whose sizes are fed: native for all sizes by one program, and refused as by the reference kernel."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array

SIZES = [(2, 3, 5, 6, 4), (2, 3, 1, 1, 1), (2, 1, 0, 3, 4), (0, 1, 4, 4, 4), (1, 0, 7, 5, 2), (3, 2, 2, 5, 9)]
TOLERANCES = {"float": 1e-6, "double": 1e-14, "float16": 1e-3, "bfloat16": 8e-3}  # a unit in the last place


def text_of(axes: int, dtype: str = "float", corners: int = 0, batch: str = "N") -> str:
    return f"""g ({dtype}[{batch},{axes},{axes + 1}] theta, int64[{axes + 2}] size) => ({dtype}[] y)
        {{ y = AffineGrid <align_corners = {corners}> (theta, size) }}"""


def feeds_of(axes: int, batch: int, size: tuple[int, ...], dtype: str = "float") -> dict[str, Array]:
    theta = np.random.default_rng(batch).standard_normal((batch, axes, axes + 1))
    return {"theta": theta.astype(sx.DataType[dtype.upper()].numpy), "size": np.array(size[: axes + 2])}


@pytest.mark.parametrize("dtype", ["float", "double", "float16", "bfloat16"])
@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("axes", [2, 3])
def test_one_program_serves_all_sizes(axes: int, corners: int, dtype: str) -> None:
    model = parse_model(text_of(axes, dtype, corners), opset=28)
    native, reference = (sx.Session(model, engine=engine) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    for size in SIZES:
        feeds = feeds_of(axes, size[0], size, dtype)
        result, expected = (np.asarray(session.run(feeds)["y"]) for session in (native, reference))
        # A sum of up to four terms of at most 4, rounded once to the type of the result.
        np.testing.assert_allclose(
            result.astype(np.float64),
            expected.astype(np.float64),
            rtol=TOLERANCES[dtype],
            atol=TOLERANCES[dtype] * 8,
        )
    assert not native.stats.bailouts and native.stats.specializations == 0


def test_points_of_a_known_map() -> None:
    theta = np.array([[[1, 0, 0], [0, 2, 1]]], np.float32)
    session = sx.Session(parse_model(text_of(2, corners=1), opset=28), engine="native")
    y = session.run({"theta": theta, "size": np.array([1, 1, 2, 3])})["y"]
    points = [[[-1, -1], [0, -1], [1, -1]], [[-1, 3], [0, 3], [1, 3]]]
    np.testing.assert_array_equal(y, np.array([points], np.float32))


@pytest.mark.parametrize("batch", ["N", "2"])
@pytest.mark.parametrize(
    "size", [(3, 3, 5, 6), (1, 3, 5, 6), (2, -1, 5, 6), (2, 3, -5, 6), (2, 3, 5, -(2**63)), (-1, 3, 5, 6)]
)
def test_invalid_sizes_are_refused(size: tuple[int, ...], batch: str) -> None:
    model = parse_model(text_of(2, batch=batch), opset=28)
    messages = []
    for session in (sx.Session(model, engine="native"), sx.Session(model, engine="reference")):
        with pytest.raises(sx.EvaluationError) as error:
            session.run(feeds_of(2, 2, size))
        messages.append(str(error.value))
    assert messages[0] == messages[1] and "theta must be" in messages[0]
