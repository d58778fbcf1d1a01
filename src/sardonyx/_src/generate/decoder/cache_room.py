"""Which caches of a decoder a run may update in memory that has room for more tokens."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.generate.decoder.cache_pairs import CachePair, past_slot
from sardonyx._src.generate.decoder.grouped_caches import TOKEN_AXIS, is_grouped
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Dim, Expr
from sardonyx._src.rewrite.cache_room import PLACES, is_insertion
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.runtime.session.session_values import SessionValue


def updated_pairs(session: Session, pairs: Sequence[CachePair]) -> tuple[CachePair, ...]:
    """The caches that a run writes in place: buffers of a fixed size, and growing ones that may have room."""
    if has_edited_caches(session):
        return tuple(pair for pair in pairs if pair.axis is not None)
    in_place = session.in_place
    fixed = [pair for pair in pairs if pair.axis is None and pair.has_positions]
    fixed = [pair for pair in fixed if in_place.get(pair.present) == pair.past]
    growing = [pair for pair in pairs if pair.axis is not None]
    inputs = {value.name: value for value in session.model.graph.inputs}
    results = {value.name: value for value in session.model.graph.outputs}
    has_room = all(
        pair.axis == TOKEN_AXIS
        and in_place.get(pair.present) == pair.past
        and is_size_irrelevant(inputs[pair.past], results[pair.present])
        and is_size_undeclared(session, pair, pairs)
        for pair in growing
    )
    return tuple(pair for pair in pairs if pair in fixed or (has_room and pair in growing))


def has_edited_caches(session: Session) -> bool:
    """Whether the growing caches of a session's model were edited, so that they have room (`rewrite.cache_room`)."""
    return any(value.name == PLACES for value in session.inputs)


def writes_in_place(session: Session) -> bool:
    """Whether runs write all caches in place that have room by an edit."""
    edited = [value for value in session.model.graph.outputs if is_insertion(value)]
    return all(value.name in session.in_place for value in edited)


def is_size_irrelevant(past: Value, present: Value) -> bool:
    """Whether the graph only updates a cache, by an operator for which the size of its memory means nothing."""
    slot = past_slot(present)
    is_update = is_grouped(present) and slot is not None and slot[1] is past
    return is_update and len(past.uses) == 1 and not present.uses


def is_size_undeclared(session: Session, pair: CachePair, pairs: Sequence[CachePair]) -> bool:
    """Whether a session accepts any size of a growing cache: other values are not declared to have it, or it compares none."""
    if session.shapes == "off":
        return True
    pasts, presents = {each.past for each in pairs}, {each.present for each in pairs}
    others = [value for value in session.inputs if value.name not in pasts]
    others += [value for value in session.outputs if value.name not in presents]
    taken = {name for value in others for dim in value.shape or () for name in names_of(dim)}
    sides = [dim_of(session.inputs, pair.past, pair.axis), dim_of(session.outputs, pair.present, pair.axis)]
    return all(dim is None or (names_of(dim) == {str(dim)} and str(dim) not in taken) for dim in sides)


def names_of(dim: Dim) -> frozenset[str]:
    """The names that a declared dim consists of."""
    return dim.symbols() if isinstance(dim, Expr) else frozenset()


def dim_of(values: Sequence[SessionValue], name: str, axis: int | None) -> Dim:
    """The declared dim of a value; None for none."""
    shape = next(value.shape for value in values if value.name == name)
    return None if shape is None or axis is None else shape[axis]
