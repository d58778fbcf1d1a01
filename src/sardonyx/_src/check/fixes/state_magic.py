"""state-magic: sets the magic word of an operator-set document."""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.io.loading.operator_sets import OPSET_MAGIC
from sardonyx._src.proto.messages import OperatorSetProto


@fix("SX600")
def state_magic(violation: Violation) -> str:
    violation.visited_record(OperatorSetProto).magic = OPSET_MAGIC
    return f"set the magic to {OPSET_MAGIC}"
