"""Ranks that no reader accepts are violations, and nothing inside of them is visited."""

from __future__ import annotations

from unittest.mock import patch

import pytest

import sardonyx as sx
from models import load_record, parse_record
from sardonyx._src.check.engine.walk import Walk
from sardonyx._src.io.serde.types import MAX_RANK
from sardonyx._src.proto import messages as m

TEXT = "g (float[1] x) => (float[1] y) <float[1] w = {1}> { y = Add(x, w) }"


def model_of_rank(rank: int, where: str) -> m.ModelProto:
    record = parse_record(TEXT)
    graph = record.graph
    assert graph is not None
    if where == "initializer":
        graph.initializer[0].dims = [1] * rank
        return record
    values = graph.input if where == "input" else graph.value_info
    if where == "value_info":
        values.append(
            m.ValueInfoProto(name="w", type=m.TypeProto(tensor_type=m.TypeProtoTensor(elem_type=1)))
        )
    type_ = values[0].type
    assert type_ is not None
    assert type_.tensor_type is not None
    type_.tensor_type.shape = m.TensorShapeProto(
        dim=[m.TensorShapeProtoDimension(dim_value=1) for _ in range(rank)]
    )
    return record


@pytest.mark.parametrize("where", ["initializer", "input", "value_info"])
def test_more_dims_than_a_tensor_may_have_are_a_violation(where: str) -> None:
    assert "SX008" not in {d.rule for d in sx.check(model_of_rank(MAX_RANK, where)).diagnostics}
    record = model_of_rank(MAX_RANK + 1, where)
    (diagnostic,) = [d for d in sx.check(record).diagnostics if d.rule == "SX008"]
    assert diagnostic.severity == "error"
    assert "at most 1024 dims; got 1025" in str(diagnostic)
    with pytest.raises(sx.SardonyxError, match="at most 1024 dims; got 1025"):
        load_record(record)


def test_dims_that_are_too_many_are_not_visited() -> None:
    record = model_of_rank(MAX_RANK + 1, "input")
    with patch.object(Walk, "run_rules", autospec=True, side_effect=Walk.run_rules) as runs:
        sx.check(record)
    assert runs.call_count < 100
