"""merge-initializers of large tensors: a few elements decide first, and elements below 8 bits are compared as stored."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src import dtypes
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Graph, Model, Tensor, TensorType, Value
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ir.tensors import RawStorage
from sardonyx._src.rewrite.passes import merge_initializers

RNG = np.random.default_rng(3)
SHAPE = (64, 128)


def codes() -> Array:
    return RNG.integers(0, 16, SHAPE).astype(DataType.UINT4.numpy)


def stored(values: Array, *, is_raw: bool) -> Tensor:
    if not is_raw:
        return Tensor.of(values, DataType.UINT4)
    return Tensor(DataType.UINT4, values.shape, RawStorage(dtypes.pack(values, DataType.UINT4)))


def model_of(tensors: list[Tensor]) -> Model:
    """A model whose outputs are the tensors, cast to float32."""
    b = GraphBuilder(opset=23)
    x = b.input("x", DataType.FLOAT, list(SHAPE))
    outputs: list[Value] = []
    for i, tensor in enumerate(tensors):
        value = b.graph.add_initializer(Value(f"w{i}", TensorType(tensor.dtype, tensor.shape), tensor))
        outputs.append(b.Add(x, b.Cast(value, to=int(DataType.FLOAT))))
    return b.model(y=b.Concat(*outputs, axis=0))


def names_left(model: Model) -> list[str]:
    graph: Graph = sx.optimize(model, passes=["merge-initializers"]).graph
    return [*graph.initializers]


@pytest.mark.parametrize("is_raw", [False, True], ids=["array", "bytes"])
def test_equal_matrices_of_four_bits_become_one(is_raw: bool) -> None:
    first, second = codes(), codes()
    changed = first.copy()
    changed[-1, -1] = 15 - int(first[-1, -1])
    tensors = [stored(values, is_raw=is_raw) for values in (first, second, first.copy(), changed)]
    assert names_left(model_of(tensors)) == ["w0", "w1", "w3"]


def test_transposed_matrices_are_compared_by_their_elements() -> None:
    """The elements of a view lie in another order than those of a dense array."""
    first = RNG.normal(size=SHAPE).astype(np.float32)
    view = np.asfortranarray(first)
    other = view.copy()
    other[1, 0] += 1
    assert names_left(model_of([Tensor.of(first), Tensor.of(view), Tensor.of(other)])) == ["w0", "w2"]


def test_a_model_is_sampled_once_although_the_pass_sweeps_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sampled: list[Tensor] = []
    original = merge_initializers.sample

    def sample(tensor: Tensor) -> Hashable:
        sampled.append(tensor)
        return original(tensor)

    monkeypatch.setattr(merge_initializers, "sample", sample)
    tensors = [Tensor.of(RNG.standard_normal(SHAPE, np.float32)) for _ in range(3)]
    tensors.append(Tensor.of(tensors[0].numpy().copy()))
    assert names_left(model_of(tensors)) == ["w0", "w1", "w2"]
    assert len(sampled) == len(set(sampled)) == 4


@pytest.mark.parametrize("place", [(0, 0), (0, 3), (21, 43), (63, 127)])
def test_a_tensor_that_differs_at_one_element_stays(place: tuple[int, int]) -> None:
    """At sampled elements and elsewhere."""
    first = RNG.standard_normal(SHAPE, np.float32)
    changed = first.copy()
    changed[place] += 1
    assert names_left(model_of([Tensor.of(first), Tensor.of(changed)])) == ["w0", "w1"]
