"""Operators that may edit a sequence in place of returning another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sardonyx._src.ops.sequence.owned_sequence import OwnedSequence
from sardonyx._src.ops.sequence.sequence_erase import erase_in_place
from sardonyx._src.ops.sequence.sequence_insert import insert_in_place

# By operator: the kernel for a sequence that nothing else refers to, which is input 0 and becomes output 0.
SEQUENCE_EDITS: Mapping[str, Callable[..., OwnedSequence]] = {
    "SequenceInsert": insert_in_place,
    "SequenceErase": erase_in_place,
}
