"""The operators of further domains as methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sardonyx._src.build.operand import Operand, OperandLike
from sardonyx._src.build.operator_methods import NamedOperators

if TYPE_CHECKING:
    from sardonyx._src.build.builder import Builder


class DomainMethods(NamedOperators):
    """The operators of a domain as methods: `b.domain("com.microsoft").Gelu(x)`."""

    def __init__(self, builder: Builder, domain: str) -> None:
        self._builder, self._domain = builder, domain

    def call(self, op_type: str, *inputs: OperandLike | None, **options: object) -> Operand:
        options.setdefault("domain", self._domain)
        return self._builder.call(op_type, *inputs, **options)

    @property
    def operator_domain(self) -> str:
        return self._domain
