"""The interface of a library: inputs and outputs as C sees them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Graph, TensorType, Value
from sardonyx._src.ir.dims import Expr

# C types by element type; complex numbers are pairs, and elements of fewer than 8 bits take a byte each.
C_TYPES = {
    DataType.FLOAT: "float",
    DataType.DOUBLE: "double",
    DataType.COMPLEX64: "float",
    DataType.COMPLEX128: "double",
    DataType.INT8: "int8_t",
    DataType.INT16: "int16_t",
    DataType.INT32: "int32_t",
    DataType.INT64: "int64_t",
    DataType.UINT16: "uint16_t",
    DataType.UINT32: "uint32_t",
    DataType.UINT64: "uint64_t",
    DataType.FLOAT16: "uint16_t",
    DataType.BFLOAT16: "uint16_t",
    DataType.INT4: "int8_t",
    DataType.INT2: "int8_t",
}
BYTE_TYPE = "uint8_t"  # of all other element types
MAX_ELEMENT_BYTES = 8  # of a C type
KEYWORDS = frozenset(  # of C23 (6.4.1) and C++20 ([lex.key], [lex.digraph])
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await "
    "co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do "
    "double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace "
    "new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict "
    "return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try "
    "typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq".split()
)


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output.

    name: in the model.  c_name: the member of the struct.  shape: its sizes, all of them numbers.
    lends_memory: whether a run keeps intermediate tensors of any type in an output until it is written.
    """

    name: str
    c_name: str
    dtype: DataType
    shape: tuple[int, ...]
    lends_memory: bool = False

    @property
    def c_type(self) -> str:
        return C_TYPES.get(self.dtype, BYTE_TYPE)

    @property
    def c_elements(self) -> int:
        """The number of elements of the C type: two for a complex number."""
        return math.prod(self.shape) * (2 if self.dtype.is_complex else 1)

    @property
    def element_bytes(self) -> int:
        """The size of an element of the C type."""
        return self.dtype.numpy.itemsize // (2 if self.dtype.is_complex else 1)

    @property
    def alignment(self) -> int:
        """The alignment that a pointer must have, in bytes; 0 for a tensor without elements, which needs none."""
        least = MAX_ELEMENT_BYTES if self.lends_memory else self.element_bytes
        return least if self.c_elements else 0


@dataclass(frozen=True, slots=True)
class LibraryInterface:
    """The inputs and outputs of a library, in the order of the model."""

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]


def fed_inputs(graph: Graph) -> list[Value]:
    """The inputs that callers feed: those without a default, which is a constant of the library."""
    return [value for value in graph.inputs if value.name not in graph.initializers]


def require_static_tensors(graph: Graph) -> None:
    """Raises InputError unless every input is a tensor of numbers whose sizes are numbers."""
    others: list[str] = []
    free: dict[str, None] = {}
    for value in fed_inputs(graph):
        if not isinstance(value.type, TensorType) or value.type.dtype in (
            DataType.STRING,
            DataType.UNDEFINED,
        ):
            others.append(f"{value.name!r} ({value.type})")
        elif value.type.shape is None or None in value.type.shape:
            others.append(f"{value.name!r} (sizes without names: {value.type})")
        else:
            dims = (dim for dim in value.type.shape if isinstance(dim, Expr))
            free.update(dict.fromkeys(name for dim in dims for name in sorted(dim.symbols())))
    if others:
        raise InputError(
            "the inputs of a library must be tensors of numbers with sizes that are numbers or have names; "
            f"got {', '.join(others)}; `sardonyx set-dims` sets sizes",
            name="model",
        )
    if free:
        options = " ".join(f"--dim {name}=8" for name in free)
        raise InputError(
            f"the sizes of a library must be numbers; got {', '.join(free)}; fix them, as with {options} or "
            f"dims={dict.fromkeys(free, 8)}",
            name="model",
        )


def interface_of(graph: Graph, executable: Executable) -> LibraryInterface:
    """The interface of a model whose outputs are all computed by kernels."""
    inputs = []
    for value in fed_inputs(graph):
        assert isinstance(value.type, TensorType) and value.type.shape is not None, "inputs have been checked"
        inputs.append((value.name, value.type.dtype, value.type.shape, False))
    lenders = {loan.output for loan in executable.plan.loans.values()}
    tensors = {value.name: tensor for value, tensor in executable.program.outputs.items()}
    outputs = []
    for name in dict.fromkeys(value.name for value in graph.outputs):
        tensor = tensors[name]
        assert tensor is not None, "kernels compute all outputs"
        outputs.append((name, tensor.dtype, tensor.shape, tensor.buffer in lenders))
    return LibraryInterface(ports_of(inputs), ports_of(outputs))


def ports_of(values: Sequence[tuple[str, DataType, Sequence[object], bool]]) -> tuple[Port, ...]:
    """The ports of names, element types and sizes, and whether they lend memory."""
    names = c_names(name for name, *_ in values)
    return tuple(
        Port(name, c_name, dtype, tuple(dim for dim in shape if isinstance(dim, int)), lends)
        for c_name, (name, dtype, shape, lends) in zip(names, values, strict=True)
    )


def c_names(names: Iterable[str]) -> list[str]:
    """Different identifiers of C for some names: other characters become underscores, repeated identifiers get a number."""
    result: dict[str, None] = {}
    for name in names:
        base = c_identifier(name)
        candidate, number = base, 2
        while candidate.lower() in {other.lower() for other in result}:
            candidate, number = f"{base}_{number}", number + 1
        result[candidate] = None
    return [*result]


def c_identifier(name: str) -> str:
    """An identifier of C and C++ that resembles a name."""
    text = re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_")
    if not text or text[0].isdigit():
        text = f"x{text}"
    text = re.sub("__+", "_", text)  # reserved in C++
    return f"{text}_" if text in KEYWORDS else text
