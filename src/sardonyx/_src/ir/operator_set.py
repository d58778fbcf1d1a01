"""Operator-set documents: declarations of operators, and functions that define them (IR.md, "Operator Sets")."""

from __future__ import annotations

import enum
from dataclasses import field

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Function
from sardonyx._src.ir.details import SourceDetails


class OperatorStatus(enum.IntEnum):
    """The maturity of an operator, numbered as in onnx-operators.proto."""

    EXPERIMENTAL = 0
    STABLE = 1


@dataclass(slots=True)
class OperatorDeclaration:
    """An operator that exists in the set, the version of the set that introduced it, and its status."""

    op_type: str
    since_version: int
    status: OperatorStatus = OperatorStatus.STABLE
    doc: str = ""
    details: SourceDetails | None = None


@dataclass(slots=True)
class OperatorSet:
    """The operators of one version of a domain."""

    domain: str
    version: int
    ir_version: int
    operators: list[OperatorDeclaration] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    ir_version_prerelease: str = ""
    ir_build_metadata: str = ""
    doc: str = ""
    details: SourceDetails | None = None
