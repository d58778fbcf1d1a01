"""Which output of a decoder is the next value of which input: by their names, and by how the graph computes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.generate.decoder.grouped_caches import window_of
from sardonyx._src.ir import Model, Value
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.runtime.session.session_values import SessionValue
from sardonyx._src.schema import lookup, versions

# Words of names that tell an input from the output with the same meaning.
SIDES = frozenset(
    "past present in out input output new next old prev previous updated key_values values cached".split()
)
WORD = re.compile(r"[A-Za-z]+|\d+")
CROSS = frozenset({"encoder", "cross"})  # words of the names of caches of what an encoder computed
MAX_DEPTH = 64  # nodes between an output and the input that it continues


@dataclass(frozen=True, slots=True)
class CachePair:
    """An input of a decoder and the output that is fed to it next.

    past, present: their names.
    axis: the axis that grows with each token; None for a buffer or state whose shape stays.
    has_positions: whether what it holds of a token is at a place of its own, so that it can be cut.  A recurrent state is
        no such cache, and neither is one of a window, which has evicted tokens.
    """

    past: str
    present: str
    axis: int | None
    has_positions: bool


def pair_caches(
    inputs: Sequence[SessionValue],
    outputs: Sequence[SessionValue],
    stated: Mapping[str, str],
    session: Session,
) -> tuple[CachePair, ...]:
    """The pairs among inputs without another role and outputs that are not logits.

    stated: outputs by input, as a caller says.  Names decide where they are clear, and the graph elsewhere.
    """
    free = {v.name: v for v in outputs if v.name not in stated.values()}
    chosen = dict(stated)
    chosen |= pairs_by_name([v for v in inputs if v.name not in chosen], list(free.values()))
    rest = [v for v in inputs if v.name not in chosen]
    if rest and free:
        chosen |= pairs_by_graph(
            rest, [v for v in free.values() if v.name not in chosen.values()], session.model
        )
    by_name, results = {v.name: v for v in outputs}, {v.name: v for v in session.model.graph.outputs}
    return tuple(
        make_pair(v, by_name[chosen[v.name]], results[chosen[v.name]]) for v in inputs if v.name in chosen
    )


def pair_cross_caches(
    inputs: Sequence[SessionValue], outputs: Sequence[SessionValue]
) -> tuple[CachePair, ...]:
    """The pairs of caches of what an encoder computed, by their names."""
    pairs = pairs_by_name([v for v in inputs if is_cross(v.name)], [v for v in outputs if is_cross(v.name)])
    return tuple(CachePair(past, present, None, has_positions=False) for past, present in pairs.items())


def is_cross(name: str) -> bool:
    return not CROSS.isdisjoint(WORD.findall(name.lower()))


def make_pair(past: SessionValue, present: SessionValue, result: Value) -> CachePair:
    if window_of(result) is not None:
        return CachePair(past.name, present.name, None, has_positions=False)
    axis = growing_axis(past, present)
    return CachePair(past.name, present.name, axis, axis is not None or updates_positions(result))


def updates_positions(value: Value) -> bool:
    """Whether an operator writes new tokens into a buffer: its signature has a past, which is no state."""
    slot = past_slot(value)
    return slot is not None and "state" not in slot[0]


def pairs_by_name(inputs: Sequence[SessionValue], outputs: Sequence[SessionValue]) -> dict[str, str]:
    """Pairs whose names are equal without the words that tell the sides apart; names that are not unique decide nothing."""
    keys = [name_key(v.name) for v in outputs]
    unique = {key: v for key, v in zip(keys, outputs, strict=True) if keys.count(key) == 1}
    past_keys = [name_key(v.name) for v in inputs]
    return {
        v.name: unique[key].name
        for key, v in zip(past_keys, inputs, strict=True)
        if past_keys.count(key) == 1 and key in unique and are_alike(v, unique[key])
    }


def name_key(name: str) -> tuple[str, ...]:
    """`past_key_values.0.key` and `present.0.key` have the key ("0", "key")."""
    words = [word.lower() for word in WORD.findall(name)]
    if words[:3] == ["past", "key", "values"]:
        words = words[3:]
    return tuple(word for word in words if word not in SIDES)


def are_alike(past: SessionValue, present: SessionValue) -> bool:
    """Whether two tensors may have one element type and rank, as far as they are declared."""
    if past.dtype is None or (present.dtype is not None and past.dtype != present.dtype):
        return False
    return past.shape is None or present.shape is None or len(past.shape) == len(present.shape)


def pairs_by_graph(
    inputs: Sequence[SessionValue], outputs: Sequence[SessionValue], model: Model
) -> dict[str, str]:
    """For each input the output that depends on it by the fewest nodes; raises InputError if two are as near."""
    pasts = {v.name: v for v in inputs}
    graph = model.graph
    results = {value.name: value for value in graph.outputs}
    pairs: dict[str, str] = {}
    for output in outputs:
        near = [
            name
            for name in nearest_inputs(results[output.name], frozenset(pasts))
            if are_alike(pasts[name], output)
        ]
        if len(near) > 1:
            raise InputError(
                f"the input that output {output.name!r} continues must be evident; got {', '.join(map(repr, near))}: "
                f"state it as roles={{{near[0]!r}: {output.name!r}}}",
                name="roles",
            )
        if near:
            pairs.setdefault(near[0], output.name)
    return pairs


def nearest_inputs(value: Value, names: frozenset[str]) -> list[str]:
    """The inputs of these names that are the fewest nodes above a value."""
    level, seen = [value], {value}
    for _ in range(MAX_DEPTH):
        nearest = [v.name for v in level if v.name in names and v.producer is None]
        if nearest or not level:
            return nearest
        above = [parent for item in level for parent in parents(item) if parent not in seen]
        level = list(dict.fromkeys(above))
        seen.update(level)
    return []


def parents(value: Value) -> list[Value]:
    """The operands that a value is computed from: for a cache that an operator updates, only the cache before it."""
    slot = past_slot(value)
    if slot is not None:
        return [slot[1]]
    return (
        [operand for operand in value.producer.inputs if operand is not None]
        if value.producer is not None
        else []
    )


def past_slot(value: Value) -> tuple[str, Value] | None:
    """The parameter and operand that an operator continues in this result, by its signature; None if there is none.

    GroupQueryAttention computes `present_key` of `past_key`, TensorScatter `present_cache` of `past_cache`.
    """
    node = value.producer
    known = versions(node.domain, node.op_type) if node is not None else ()
    schema = lookup(node.domain, node.op_type, known[-1]) if node is not None and known else None
    output = schema.output(value.index) if schema is not None else None
    if node is None or schema is None or output is None or "present" not in output.name:
        return None
    for position, operand in enumerate(node.inputs):
        slot = schema.input(position)
        if (
            operand is not None
            and slot is not None
            and "past" in slot.name
            and name_key(slot.name) == name_key(output.name)
        ):
            return slot.name, operand
    return None


def growing_axis(past: SessionValue, present: SessionValue) -> int | None:
    """The axis, after that of the batch, whose size differs before and after a run; None if there is none.

    An axis of a cache grows if its dim is open and another one in the output: both are named after other lengths.  Where the
    output declares no shape, an open axis grows.
    """
    if past.shape is None:
        return None
    results = present.shape if present.shape is not None else (None,) * len(past.shape)
    for axis, (before, after) in enumerate(zip(past.shape, results, strict=True)):
        if axis and not isinstance(before, int) and (before is None or before != after):
            return axis
    return None
