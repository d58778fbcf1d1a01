"""Answers of operators that are kept for other nodes and models."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from threading import Thread

import pytest

import sardonyx as sx
from models import model
from sardonyx._src.infer.answers import LARGEST, MEMORY, MOST_PARTS, Answer, Memory, parts_of
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.ir.types import Type


def y(text: str) -> Type | None:
    return sx.infer(model(text)).graph.outputs[0].type


def inner(part: Hashable) -> Iterator[Hashable]:
    yield part
    if isinstance(part, tuple):
        for one in part:
            yield from inner(one)


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    MEMORY.clear()


def test_models_that_ask_the_same_share_the_answer() -> None:
    text = "g (float[N,2] x) => (float[] y) { a = Concat<axis = 0>(x, x)  y = Identity(a) }"
    assert y(text) is not None
    first, second = (sx.infer(model(text)).graph.nodes[0].outputs[0].type for _ in range(2))
    assert first is second


@pytest.mark.parametrize(
    ("one", "other"),
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
def test_models_that_ask_something_else_get_another_answer(one: str, other: str) -> None:
    head = "g (float[3,4] x) => (float[] y) <int64[2] a = {2, 6}, int64[2] b = {12, 1}>"
    assert y(f"{head} {{ {one} }}") != y(f"{head} {{ {other} }}")
    assert [y(f"{head} {{ {text} }}") for text in (one, other)] == [
        y(f"{head} {{ {text} }}") for text in (one, other)
    ]


def test_sizes_that_data_decide_are_not_shared() -> None:
    found = sx.infer(model("g (float[N] x) => (int64[] y) { a = NonZero(x)  y = NonZero(x) }"))
    assert [str(node.outputs[0].type) for node in found.graph.nodes] == ["int64[1,unk_0]", "int64[1,unk_1]"]


def test_tensors_of_a_model_are_not_held() -> None:
    assert (
        str(y("g (int64[2] s) => (float[] y) { y = ConstantOfShape<value = float[1] {1}>(s) }"))
        == "float[?,?]"
    )
    keys = [key for key in MEMORY.found if key is not None]
    assert not any(isinstance(part, Tensor) for key in keys for part in inner(key))


def test_the_memory_begins_anew_when_it_is_full() -> None:
    memory, answer = Memory(), Answer(None)
    keys = [("some", i, tuple(range(100))) for i in range(MOST_PARTS // 50)]
    for key in keys:
        memory.put(key, answer)
        assert memory.parts <= MOST_PARTS
    assert keys[-1] in memory.found
    assert keys[0] not in memory.found
    assert memory.parts == sum(parts_of((key, *answer.types)) - 1 for key in memory.found)


def test_what_is_large_is_not_kept() -> None:
    memory = Memory()
    memory.put(("long", tuple(range(LARGEST + 1))), Answer(None))
    memory.put(("text", "n" * 8 * LARGEST), Answer(None))
    assert memory.found == {}


def test_threads_share_the_memory() -> None:
    found: list[str] = []

    def work(size: int) -> None:
        for i in range(40):
            text = f"g (float[{size},{i + 1}] x) => (float[] y) {{ a = Concat<axis = 0>(x, x)  y = Transpose(a) }}"
            if i % 7 == 0:
                MEMORY.clear()
            if str(y(text)) != f"float[{i + 1},{2 * size}]":
                found.append(text)

    threads = [Thread(target=work, args=(size,)) for size in (1, 2, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == []
