"""The shape-inference memo cache."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from threading import Thread

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.infer.memo_cache import (
    MAX_CACHE_COST,
    MAX_ENTRY_COST,
    MEMO_CACHE,
    MemoCache,
    OutputTypes,
    cost_of,
)
from sardonyx._src.ir import Tensor, Type


def y(text: str) -> Type | None:
    return sx.infer(parse_model(text)).graph.outputs[0].type


def inner(part: Hashable) -> Iterator[Hashable]:
    yield part
    if isinstance(part, tuple):
        for item in part:
            yield from inner(item)


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    MEMO_CACHE.clear()


def test_equal_nodes_share_their_output_types() -> None:
    text = "g (float[N,2] x) => (float[] y) { a = Concat<axis = 0>(x, x)  y = Identity(a) }"
    assert y(text) is not None
    first, second = (sx.infer(parse_model(text)).graph.nodes[0].outputs[0].type for _ in range(2))
    assert first is second


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("y = Concat<axis = 0>(x, x)", "y = Concat<axis = 1>(x, x)"),  # attributes
        ("y = Reshape(x, a)", "y = Reshape(x, b)"),  # elements of an initializer
        (
            "s = Constant<value_ints = [4, 3]>()  y = Reshape(x, s)",
            "s = Constant<value_ints = [2, 6]>()  y = Reshape(x, s)",
        ),
        (
            "s = Constant<value = int64[2] {4, 3}>()  y = Reshape(x, s)",
            "s = Constant<value = int64[2] {2, 6}>()  y = Reshape(x, s)",
        ),
    ],
)
def test_other_attributes_or_elements_give_other_types(first: str, second: str) -> None:
    head = "g (float[3,4] x) => (float[] y) <int64[2] a = {2, 6}, int64[2] b = {12, 1}>"
    assert y(f"{head} {{ {first} }}") != y(f"{head} {{ {second} }}")
    assert [y(f"{head} {{ {text} }}") for text in (first, second)] == [
        y(f"{head} {{ {text} }}") for text in (first, second)
    ]


def test_data_dependent_sizes_are_not_shared() -> None:
    inferred = sx.infer(parse_model("g (float[N] x) => (int64[] y) { a = NonZero(x)  y = NonZero(x) }"))
    assert [str(node.outputs[0].type) for node in inferred.graph.nodes] == [
        "int64[1,unk_0]",
        "int64[1,unk_1]",
    ]


def test_tensors_of_a_model_are_not_kept_alive() -> None:
    assert (
        str(y("g (int64[2] s) => (float[] y) { y = ConstantOfShape<value = float[1] {1}>(s) }"))
        == "float[?,?]"
    )
    keys = [key for key in MEMO_CACHE.entries if key is not None]
    assert not any(isinstance(part, Tensor) for key in keys for part in inner(key))


def test_a_full_cache_is_cleared() -> None:
    cache, types = MemoCache(), OutputTypes(None)
    keys = [("some", i, tuple(range(100))) for i in range(MAX_CACHE_COST // 50)]
    for key in keys:
        cache.put(key, types)
        assert cache.cost <= MAX_CACHE_COST
    assert keys[-1] in cache.entries
    assert keys[0] not in cache.entries
    assert cache.cost == sum(cost_of((key, *types.types)) - 1 for key in cache.entries)


def test_large_entries_are_not_cached() -> None:
    cache = MemoCache()
    cache.put(("long", tuple(range(MAX_ENTRY_COST + 1))), OutputTypes(None))
    cache.put(("text", "n" * 8 * MAX_ENTRY_COST), OutputTypes(None))
    assert cache.entries == {}


def test_threads_share_the_cache() -> None:
    wrong: list[str] = []

    def work(size: int) -> None:
        for i in range(40):
            text = f"g (float[{size},{i + 1}] x) => (float[] y) {{ a = Concat<axis = 0>(x, x)  y = Transpose(a) }}"
            if i % 7 == 0:
                MEMO_CACHE.clear()
            if str(y(text)) != f"float[{i + 1},{2 * size}]":
                wrong.append(text)

    threads = [Thread(target=work, args=(size,)) for size in (1, 2, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
