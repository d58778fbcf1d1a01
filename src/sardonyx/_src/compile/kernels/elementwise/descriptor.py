"""Descriptors: what the interpreter computes, as a sequence of i64 words.

A descriptor is a header (`HEADER_WORDS`), two words for each tensor, two for each constant, and a word for each
instruction.  A tensor has its bytes an element, and how its elements follow one another along a row: 0 for one element,
1 for adjacent ones, else the argument slot with their stride.  A constant has its instruction, and its bits.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from sardonyx._src.compile.codegen.emit_expressions import is_untyped
from sardonyx._src.compile.codegen.expressions import (
    Apply,
    Cast,
    Local,
    Number,
    Scalar,
    Select,
    operands,
    topological_order,
)
from sardonyx._src.compile.kernels.elementwise.interpreter_instructions import (
    BOOL,
    LIMITS,
    MAX_SLOTS,
    MAX_TENSORS,
    cast_name,
    instruction_numbers,
    move_name,
    result_type,
)
from sardonyx._src.compile.kernels.elementwise.variant import (
    ElementwiseOperand,
    ElementwiseVariant,
    elementwise_parameters,
)
from sardonyx._src.compile.program import element_bytes
from sardonyx._src.dtypes import DataType

HEADER_WORDS = 4  # the number of dims outside of a row, tensors, constants and instructions
FORMATS = {"float": "<f4x", "double": "<d", "int64": "<q", "int32": "<i4x", "bool": "<?7x", "uint8": "<B7x"}


class NotInterpreted(Exception):
    """The interpreter lacks an operation or an element type, or the expression is too long for it."""


def describe(variant: ElementwiseVariant) -> tuple[int, ...] | None:
    """The descriptor of a variant; None if the interpreter cannot compute it."""
    try:
        writer = DescriptorWriter(variant)
        writer.write()
    except NotInterpreted:
        return None
    return writer.words()


class DescriptorWriter:
    """Writes the instructions of a variant: loads, operations, and at last stores, since an output may alias an input.

    types: the element type of each node of the expressions, by `identity`.  slots: the slot of each node's block.
    """

    def __init__(self, variant: ElementwiseVariant) -> None:
        self.variant = variant
        self.types: dict[int | str, DataType] = {}
        self.slots: dict[int | str, int] = {}
        self.numbers: dict[tuple[DataType, str], int] = {}
        self.free = [*reversed(range(MAX_SLOTS))]
        self.written: set[int] = set()
        self.uses: dict[int | str, int] = {}
        self.constants: list[int] = []
        self.instructions: list[int] = []

    def words(self) -> tuple[int, ...]:
        variant = self.variant
        parameters = elementwise_parameters(variant)
        tensors: list[int] = []
        for name, operand in zip(variant.tensor_names, variant.operands, strict=True):
            kind = {"same": 0, "next": 1}.get(operand.access)
            tensors += [
                element_bytes(operand.dtype),
                parameters.index(f"{name}_step") if kind is None else kind,
            ]
        header = (variant.rank, len(variant.operands), len(self.constants) // 2, len(self.instructions))
        return (*header, *tensors, *self.constants, *self.instructions)

    def write(self) -> None:
        variant = self.variant
        if len(variant.operands) > MAX_TENSORS:
            raise NotInterpreted
        nodes = unique_nodes(variant.values)
        for node in nodes:
            for operand in operands(node):
                self.uses[identity(operand)] = self.uses.get(identity(operand), 0) + 1
        for value in variant.values:
            self.uses[identity(value)] = self.uses.get(identity(value), 0) + 1
        for node in nodes:
            if isinstance(node, Local):
                self.load(node)
        for node in nodes:
            if not isinstance(node, Local | Number):
                self.compute(node)
        for i, (value, output) in enumerate(zip(variant.values, variant.outputs, strict=True)):
            self.append(
                move_name("store", moved_type(output), output.access), i, self.block(value, output.dtype)
            )

    def load(self, node: Local) -> None:
        index = int(node.name[1:])
        operand = self.variant.inputs[index]
        self.types[identity(node)] = operand.dtype
        name = move_name("load", moved_type(operand), operand.access)
        slot = self.slots[identity(node)] = self.allocate()
        self.append(name, slot, index + len(self.variant.outputs))

    def compute(self, node: Scalar) -> None:
        """Writes the instructions of a node whose operands have been computed."""
        match node:
            case Apply(op="where", args=(condition, then, otherwise)):
                dtype = self.common_type(then, otherwise)
                blocks = [self.block(condition, BOOL), self.block(then, dtype), self.block(otherwise, dtype)]
                self.define(node, dtype, f"where.{dtype.text}", blocks)
            case Apply():
                dtype = self.common_type(*node.args)
                blocks = [self.block(arg, dtype) for arg in self.ordered(node)]
                self.define(node, result_type(node.op, dtype), self.operation_name(node, dtype), blocks)
            case Cast(dtype=DataType.FLOAT, value=Number(value=number)):
                self.define(
                    node, node.dtype, cast_name(node.dtype, node.dtype), [self.fill(number, node.dtype)]
                )
            case Cast():
                source = self.common_type(node.value)
                self.define(node, node.dtype, cast_name(source, node.dtype), [self.block(node.value, source)])
            case Select():
                self.select(node)
        for operand in operands(node):
            self.release(operand)

    def select(self, node: Select) -> None:
        """A comparison, then a choice by its result."""
        compared, chosen = self.common_type(node.a, node.b), self.common_type(node.then, node.otherwise)
        condition = self.allocate()
        blocks = [self.block(node.a, compared), self.block(node.b, compared)]
        self.append(f"{node.op}.{compared.text}", condition, *blocks)
        blocks = [condition, self.block(node.then, chosen), self.block(node.otherwise, chosen)]
        self.define(node, chosen, f"where.{chosen.text}", blocks)
        self.free.append(condition)

    def operation_name(self, node: Apply, dtype: DataType) -> str:
        has_limit = node.op in LIMITS and any(isinstance(arg, Number) for arg in node.args)
        if has_limit and dtype.is_float:
            if any(isinstance(arg, Number) and arg.value != arg.value for arg in node.args):
                raise NotInterpreted
            return f"{node.op} limit.{dtype.text}"
        return f"{node.op}.{dtype.text}"

    def ordered(self, node: Apply) -> Sequence[Scalar]:
        """The operands; a constant limit last."""
        is_first = node.op in LIMITS and isinstance(node.args[0], Number)
        return node.args[::-1] if is_first else node.args

    def define(self, node: Scalar, dtype: DataType, name: str, blocks: Sequence[int]) -> None:
        self.types[identity(node)] = dtype
        slot = self.slots[identity(node)] = self.allocate()
        self.append(name, slot, *blocks)

    def common_type(self, *values: Scalar) -> DataType:
        """The type of the first operand that has one."""
        for value in values:
            if not is_untyped(value):
                return self.types[identity(value)]
        raise NotInterpreted

    def block(self, value: Scalar, dtype: DataType) -> int:
        """The slot of an operand; of a constant that fills a block with a number of this type."""
        if isinstance(value, Number):
            return self.fill(value.value, dtype)
        if is_untyped(value) or self.types[identity(value)] is not dtype:
            raise NotInterpreted
        return self.slots[identity(value)]

    def fill(self, number: float, dtype: DataType) -> int:
        """The slot of a block that has a number of this type in every element."""
        key = dtype, repr(number)  # 0.0 and -0.0 are equal numbers
        if key not in self.numbers:
            slot = self.numbers[key] = self.take(0)
            if slot in self.written:  # constants are filled in before all instructions
                raise NotInterpreted
            moved = moved_type(ElementwiseOperand(dtype, "same"))
            instruction = encode_instruction(move_name("load", moved, "same"), slot)
            self.constants += [instruction, constant_bits(number, dtype)]
        return self.numbers[key]

    def allocate(self) -> int:
        slot = self.take(-1)
        self.written.add(slot)
        return slot

    def take(self, position: int) -> int:
        """A free slot: the last one is that which was freed last, the first one has never been written to, if possible."""
        if not self.free:
            raise NotInterpreted
        return self.free.pop(position)

    def release(self, node: Scalar) -> None:
        """Frees the slot of an operand after its last use."""
        self.uses[identity(node)] -= 1
        if self.uses[identity(node)] == 0 and identity(node) in self.slots:
            self.free.append(self.slots[identity(node)])

    def append(self, name: str, *fields: int) -> None:
        self.instructions.append(encode_instruction(name, *fields))


def unique_nodes(values: Sequence[Scalar]) -> list[Scalar]:
    """The nodes of all expressions, each once, operands before their users."""
    nodes: dict[int | str, Scalar] = {}
    for value in values:
        for node in reversed(list(topological_order(value))):
            nodes.setdefault(identity(node), node)
    return [*nodes.values()]


def identity(node: Scalar) -> int | str:
    """What nodes that are emitted once have in common: the object, or the name of an operand."""
    return node.name if isinstance(node, Local) else id(node)


def encode_instruction(name: str, *fields: int) -> int:
    """An instruction: 16 bits of its number, then 8 bits for each field."""
    number = instruction_numbers().get(name)
    if number is None:
        raise NotInterpreted
    return number + sum(field << 16 + 8 * i for i, field in enumerate(fields))


def moved_type(operand: ElementwiseOperand) -> DataType:
    """The type as which the elements of a tensor are moved."""
    return WIDTHS[element_bytes(operand.dtype)] if operand.dtype is not BOOL else BOOL


WIDTHS: Mapping[int, DataType] = {1: DataType.UINT8, 2: DataType.INT16, 4: DataType.INT32, 8: DataType.INT64}


def constant_bits(number: float, dtype: DataType) -> int:
    layout = FORMATS.get(dtype.text)
    if layout is None:
        raise NotInterpreted
    is_float = dtype.is_float
    try:
        content = struct.pack(layout, number if is_float else int(number))
    except (struct.error, OverflowError):
        raise NotInterpreted from None
    bits: int = struct.unpack("<q", content)[0]
    return bits
