"""Roles of epilogue operands: which element of an operand a kernel reads for its result at a row and a column.

A kernel views its result as a matrix: one dim gives the columns, all others, in the order of memory, the rows.
`role_of` finds how an operand broadcasts to that matrix; `verify_roles.py` proves its answers independently of this
module.
"""

from __future__ import annotations

from typing import Literal

from sardonyx._src.compile.kernels.epilogue import OperandLayout
from sardonyx._src.compile.partition import Read, Shape
from sardonyx._src.compile.program import CHANNELS_LAST, DENSE
from sardonyx._src.compile.program.operands.layout import ROWS
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import known_equal

Role = Literal["scalar", "column", "row", "matrix"]


@dataclass(frozen=True, slots=True)
class KernelResult:
    """The result of a kernel that has an epilogue.

    channels_last: whether columns run along the channels, dim 1, and not along the last dim.
    takes_rows: whether the kernel supports operands of one element for each row, as GEMMs do.
    """

    shape: Shape
    channels_last: bool = False
    takes_rows: bool = False

    @property
    def column_axis(self) -> int:
        return 1 if self.channels_last else len(self.shape) - 1


def role_of(dims: Shape, broadcast: Shape, result: KernelResult) -> Role | None:
    """The role of an operand with these dims, which broadcast to the result as `broadcast`; None if no kernel can read it.

    scalar: one element.  column: one for each column.  row: one for each row.  matrix: one for each element of the result.
    Where dims of 1 make several roles fit, each is right in every run; the first of scalar, matrix, column and row is taken.
    """
    if not has_static_dims(dims, broadcast):
        return None
    if all(dim == 1 for dim in broadcast):
        return "scalar"
    # A matrix has its channels at axis 1 only if it has the rank of the result.
    if broadcast == result.shape and (not result.channels_last or len(dims) == len(broadcast)):
        return "matrix"
    axis = result.column_axis
    if broadcast == tuple(dim if i == axis else 1 for i, dim in enumerate(result.shape)):
        return "column"
    is_row = broadcast == tuple(1 if i == axis else dim for i, dim in enumerate(result.shape))
    return "row" if is_row and result.takes_rows else None


def accepted_role(dims: Shape, broadcast: Shape, result: KernelResult) -> Role:
    """The role of an operand for which `role_of` has found one before."""
    role = role_of(dims, broadcast, result)
    assert role is not None, f"no operand of dims {dims} can be read as {broadcast}"
    return role


def has_static_dims(dims: Shape, broadcast: Shape) -> bool:
    """Whether an operand's dims equal its broadcast dims, apart from dims of 1, so that no other dim can be 1 at run time."""
    own, other = ([dim for dim in shape if dim != 1] for shape in (dims, broadcast))
    return len(own) == len(other) and all(map(known_equal, own, other))


def operand_layout(role: Role) -> OperandLayout:
    """The layout in which a kernel reads an operand; a row operand is a matrix whose only column serves all columns."""
    return "matrix" if role == "row" else role


def read_operand(value: Value, role: Role, result: KernelResult) -> Read:
    """An operand in the layout that an epilogue reads."""
    if role != "matrix":
        return Read(value, DENSE)
    return Read(value, CHANNELS_LAST if result.channels_last else ROWS)
