"""Operator-set documents: what operators a domain has, and functions that define some of them (IR.md, "Operator Sets")."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from sardonyx._src.ir.graph import Function, Unknown


class OperatorStatus(enum.IntEnum):
    """Whether an operator is meant to stay, numbered as in onnx-operators.proto."""

    EXPERIMENTAL = 0
    STABLE = 1


@dataclass(slots=True)
class OperatorDeclaration:
    """An operator that exists in the set, since which of the set's versions, and how settled it is."""

    op_type: str
    since_version: int
    status: OperatorStatus = OperatorStatus.STABLE
    doc: str = ""


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
    unknown: Unknown | None = None
