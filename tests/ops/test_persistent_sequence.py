"""Persistent sequences against lists: every version keeps its elements, whatever is made of it later."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.ops.api import as_plain_value, as_run_value
from sardonyx._src.ops.persistent_sequence import MAX_EDITS, WIDTH, InnerNode, Node, PersistentSequence

Version = tuple[PersistentSequence, list[object]]


def sequence_of(length: int) -> PersistentSequence:
    return PersistentSequence.of(np.zeros(i) for i in range(length))


def edit(version: Version, generator: np.random.Generator, erasures: float) -> Version:
    """Another version, from a random edit of this one."""
    sequence, elements = version
    if elements and generator.random() < erasures:
        i = int(generator.integers(len(elements)))
        return sequence.without_element(i), elements[:i] + elements[i + 1 :]
    i = int(generator.choice(np.array([0, len(elements), generator.integers(len(elements) + 1)])))
    element = np.array([int(generator.integers(1000))])
    return sequence.with_element(i, element), [*elements[:i], element, *elements[i:]]


def is_same(a: list[object], b: list[object]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("length", [0, 1, WIDTH - 1, WIDTH, WIDTH + 1, WIDTH**2 + WIDTH + 1])
@pytest.mark.parametrize("erasures", [0.1, 0.5, 0.9])
def test_all_versions_are_those_of_lists(length: int, erasures: float) -> None:
    generator = np.random.default_rng([length, int(10 * erasures)])
    first = sequence_of(length)
    versions: list[Version] = [(first, list(first))]
    for _ in range(500):
        parent = versions[-1 - int(generator.integers(min(len(versions), 5)))]
        versions.append(edit(parent, generator, erasures))
    for sequence, elements in versions:
        assert is_same(list(sequence), elements)
        assert len(sequence) == len(elements)
        assert all(sequence[i] is elements[i] for i in range(-len(elements), len(elements), 7))
    assert len({sequence.version for sequence, _ in versions}) == len(versions)


@pytest.mark.parametrize("position", [0.0, 0.5, 1.0])
def test_an_edit_makes_few_nodes(position: float) -> None:
    """The work of an insertion is proportional to the depth of the tree."""
    sequence = PersistentSequence.of(())
    for i in range(20 * WIDTH):
        last, sequence = sequence, sequence.with_element(int(position * i), np.array(i))
        known = nodes_of(last.tree)
        assert len(nodes_of(sequence.tree) - known) <= 2 * 3
    assert len(sequence) == 20 * WIDTH


def nodes_of(node: Node) -> set[int]:
    inner = node.children if isinstance(node, InnerNode) else ()
    return {id(node)}.union(*map(nodes_of, inner))


@pytest.mark.parametrize("length", [0, 3, 5 * WIDTH])
@pytest.mark.parametrize("beyond", [0, 1])
def test_indices_outside_are_refused(length: int, beyond: int) -> None:
    sequence = sequence_of(length)
    for index in (length + beyond, -length - 1 - beyond):
        with pytest.raises(IndexError, match=f"outside of a sequence of {length}"):
            sequence[index]


def test_inserted_elements_are_those_that_a_version_did_not_have() -> None:
    generator = np.random.default_rng(5)
    sequence = sequence_of(4)
    old, before = sequence.version, list(sequence)
    for step in range(300):
        if step % (MAX_EDITS - 1) == 0:
            old, before = sequence.version, list(sequence)
        sequence, elements = edit((sequence, list(sequence)), generator, 0.4)
        new = [i for i, element in enumerate(elements) if not any(element is x for x in before)]
        inserted = sequence.inserted_since(old)
        assert inserted is not None
        assert sorted(inserted) == new
    for _ in range(MAX_EDITS + 1):
        sequence = sequence.with_element(0, np.array([0]))
    assert sequence.inserted_since(old) is None
    assert sequence_of(4).inserted_since(old) is None


def test_a_shape_and_an_element_type_are_those_of_all_elements() -> None:
    sequence = PersistentSequence.of([np.zeros(1)] * 40)
    assert sequence.shape == (1,)
    assert sequence.has_type_of(np.zeros(3))
    assert not sequence.has_type_of(np.zeros(1, np.float32))
    assert sequence.with_element(7, np.zeros(1)).without_element(0).shape == (1,)
    other = sequence.with_element(7, np.zeros(()))
    assert other.shape is None
    assert other.has_type_of(np.zeros(1))
    assert not sequence.with_element(7, np.zeros(1, np.int64)).has_type_of(np.zeros(1))
    assert PersistentSequence.of([np.zeros(2), np.zeros(3)]).shape is None


def test_short_sequences_are_lists() -> None:
    short, long = [np.array(1)] * (WIDTH - 1), [np.array(1)] * WIDTH
    assert as_run_value(short) is short  # type: ignore[arg-type]
    persistent = as_run_value(long)  # type: ignore[arg-type]
    assert type(persistent) is PersistentSequence
    assert as_plain_value(persistent) == long
