"""state-magic: an operator-set document begins with its magic word."""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.io.operator_sets import MAGIC
from sardonyx._src.proto.messages import OperatorSetProto


@fix("SX600")
def state_magic(fault: Fault) -> str:
    fault.the(OperatorSetProto).magic = MAGIC
    return f"set the magic to {MAGIC}"
