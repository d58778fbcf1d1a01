"""The operators of domains other than ai.onnx as methods."""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.build.operand import Operand, OperandLike
from sardonyx._src.build.operator_methods import NamedOperators


class DomainMethods(NamedOperators):
    """The operators of a domain as methods: `b.domain("com.microsoft").Gelu(x)`.

    call_operator: the function that adds a node to the builder, with the parameters of `Builder.call`.
    """

    def __init__(self, call_operator: Callable[..., Operand], domain: str) -> None:
        self._call_operator, self._domain = call_operator, domain

    def call(self, op_type: str, *inputs: OperandLike | None, **options: object) -> Operand:
        options.setdefault("domain", self._domain)
        return self._call_operator(op_type, *inputs, **options)

    @property
    def operator_domain(self) -> str:
        return self._domain
