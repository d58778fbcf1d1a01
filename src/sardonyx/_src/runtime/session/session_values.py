"""Inputs and outputs of a session, as callers see them."""

from __future__ import annotations

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Shape, TensorType, Type


@dataclass(frozen=True, slots=True, repr=False)
class SessionValue:
    """An input or output of a model."""

    name: str
    type: Type | None
    has_default: bool = False  # whether an input may be left out

    def __repr__(self) -> str:
        """`x: float[N,2]`, and `(optional)` if it may be left out."""
        name = repr(self.name)[1:-1]  # control characters are escaped
        return f"{name}: {self.type or '?'}{' (optional)' * self.has_default}"

    @property
    def dtype(self) -> DataType | None:
        """The element type, of a tensor."""
        return self.type.dtype if isinstance(self.type, TensorType) else None

    @property
    def shape(self) -> Shape | None:
        """The declared dims of a tensor: numbers, variables, or None; None for an unknown rank."""
        return self.type.shape if isinstance(self.type, TensorType) else None
