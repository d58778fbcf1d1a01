"""An encoder with symbolic batch and sequence: all sizes are numbers or expressions in these two."""

from __future__ import annotations

import pytest

import sardonyx as sx
from infer.encoder import Encoder
from sardonyx._src.ir import Model, TensorType
from sardonyx._src.ir.dims import Expr
from sardonyx._src.ir.walk import values


def inferred_encoder(*, copied: bool) -> Model:
    return sx.infer(Encoder(layers=2, width=64, heads=4, vocabulary=100, copied=copied).model())


@pytest.mark.parametrize("copied", [False, True])
def test_every_size_is_an_expression_in_batch_and_sequence(copied: bool) -> None:
    symbols: set[str] = set()
    for value in values(inferred_encoder(copied=copied).graph):
        assert isinstance(value.type, TensorType), value
        assert value.type.shape is not None, value
        for dim in value.type.shape:
            assert isinstance(dim, int | Expr), value
            symbols.update(dim.symbols() if isinstance(dim, Expr) else ())
    assert symbols == {"batch", "sequence"}


@pytest.mark.parametrize("copied", [False, True])
def test_sizes_of_an_encoder(copied: bool) -> None:
    graph = inferred_encoder(copied=copied).graph
    scores = [str(node.outputs[0].type) for node in graph.nodes if node.op_type == "Softmax"]
    assert scores == ["float[batch,4,sequence,sequence]"] * 2
    assert [str(value.type) for value in graph.outputs] == ["float[batch,sequence,64]", "float[batch,64]"]
