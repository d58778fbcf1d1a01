"""state-stored-kind: sets the kind of a stored sequence, optional or map's keys to that of the only field set.

Leaves: integer keys, whose width cannot be determined from the field.
"""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.records.stored import VALUE_FIELDS_BY_KIND
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import MapProto, OptionalProto, SequenceProto


@fix("SX620 SX621")
def state_kind_of_sequence(violation: Violation) -> str:
    stored = violation.visited_record(SequenceProto)
    return state_kind(
        stored,
        [
            n
            for n, field in VALUE_FIELDS_BY_KIND.items()
            if stored.has(field + "s") and getattr(stored, field + "s")
        ],
    )


@fix("SX627 SX628")
def state_kind_of_optional(violation: Violation) -> str:
    stored = violation.visited_record(OptionalProto)
    return state_kind(stored, [n for n, field in VALUE_FIELDS_BY_KIND.items() if stored.has(field)])


@fix("SX623 SX624")
def state_key_type(violation: Violation) -> str:
    stored = violation.visited_record(MapProto)
    if not stored.string_keys or len(stored.keys) or stored.key_type == DataType.STRING:
        return ""
    stored.key_type = int(DataType.STRING)
    return "set key_type to STRING: the keys are in string_keys"


def state_kind(stored: SequenceProto | OptionalProto, kinds: list[int]) -> str:
    if len(kinds) != 1 or stored.elem_type == kinds[0]:
        return ""
    stored.elem_type = kinds[0]
    return f"set elem_type to {kinds[0]}, since {VALUE_FIELDS_BY_KIND[kinds[0]]} is set"
