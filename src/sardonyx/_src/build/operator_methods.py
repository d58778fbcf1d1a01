"""The operators of a builder's operator set as methods.

`operator_methods.pyi` declares the operators of the newest operator set for type checkers and editors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from sardonyx._src.build.operand import Operand, OperandLike
from sardonyx._src.schema import operators
from sardonyx._src.suggestions import did_you_mean


class NamedOperators(ABC):
    """Operators as attributes: `b.Relu` is a function that adds a Relu node.

    A subclass defines `operator_domain` and `call`.
    """

    @property
    @abstractmethod
    def operator_domain(self) -> str:
        """The domain of the operators."""

    @abstractmethod
    def call(self, op_type: str, *inputs: OperandLike | None, **options: object) -> Operand:
        """Adds a node of this operator."""

    def __getattr__(self, op_type: str) -> Callable[..., Operand]:
        known = operators(self.operator_domain) if not op_type.startswith("_") else ()
        if op_type not in known and (known or op_type.startswith("_")):
            hint = did_you_mean(op_type, known)
            raise AttributeError(f"{type(self).__name__} has no method and no operator {op_type!r}{hint}")

        def call(*inputs: OperandLike | None, **options: object) -> Operand:
            return self.call(op_type, *inputs, **options)

        call.__name__ = op_type
        return call

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *operators(self.operator_domain)]


class OperatorMethods(NamedOperators):
    """The operators of ai.onnx."""
