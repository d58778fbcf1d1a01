"""state-stored-kind: the kind of a stored sequence, optional or map's keys becomes that of the one field that is filled.

Leaves: integer keys, whose width no field tells.
"""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.stored import ELEMENTS
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import MapProto, OptionalProto, SequenceProto


@fix("SX620 SX621")
def state_kind_of_sequence(fault: Fault) -> str:
    stored = fault.the(SequenceProto)
    return state_kind(
        stored,
        [n for n, field in ELEMENTS.items() if stored.has(field + "s") and getattr(stored, field + "s")],
    )


@fix("SX627 SX628")
def state_kind_of_optional(fault: Fault) -> str:
    stored = fault.the(OptionalProto)
    return state_kind(stored, [n for n, field in ELEMENTS.items() if stored.has(field)])


@fix("SX623 SX624")
def state_key_type(fault: Fault) -> str:
    stored = fault.the(MapProto)
    if not stored.string_keys or len(stored.keys) or stored.key_type == DataType.STRING:
        return ""
    stored.key_type = int(DataType.STRING)
    return "set key_type to STRING: the keys stand in string_keys"


def state_kind(stored: SequenceProto | OptionalProto, kinds: list[int]) -> str:
    if len(kinds) != 1 or stored.elem_type == kinds[0]:
        return ""
    stored.elem_type = kinds[0]
    return f"set elem_type to {kinds[0]}, as {ELEMENTS[kinds[0]]} is filled"
