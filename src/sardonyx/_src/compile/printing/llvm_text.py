"""Functions in LLVM text: their basic blocks, and the kind of each instruction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from sardonyx._src.dataclass import dataclass

LABEL = re.compile(r"([\w.]+):$")
TARGET = re.compile(r"label %([\w.]+)")
DEFINITION = re.compile(r"(%[\w.]+) = (.*)")
TYPE = r"(<[^>]*>|[a-z]\w*)"
MEMORY_ACCESS = re.compile(rf"(load|store) (?:atomic |volatile )?{TYPE}[ ,].*?ptr ([%@][\w.]+)")
ARITHMETIC = re.compile(rf"(fadd|fsub|fmul|fdiv) {TYPE} ")
CALL = re.compile(rf"(?:tail )?call {TYPE} @([\w.$]+)\({TYPE}?")
OVERLOAD_SUFFIX = re.compile(r"(\.(v\d+)?(b?f|i)\d+|\.p0)+$")  # the suffix of an intrinsic's name
OPERANDS = re.compile(r"\w+ i64 ([^,]+), (\S+)$")
INFIX = {"add": "+", "sub": "-", "mul": "*", "udiv": "/"}


@dataclass(slots=True)
class FunctionText:
    """A function: the instructions and successors of its blocks, and the right sides of its definitions.

    variables: the stack slots of single values, which become registers.
    """

    blocks: dict[str, list[str]] = field(default_factory=dict)
    successors: dict[str, list[str]] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)

    def predecessors(self, block: str) -> list[str]:
        return [other for other, successors in self.successors.items() if block in successors]


def parse_function(module: str, name: str) -> FunctionText:
    """A function of a module, by name."""
    _, separator, text = module.partition(f" @{name}(ptr %args")
    assert separator, f"module must define the kernel {name}"
    function, block = FunctionText(), "entry"
    for line in map(str.strip, text[: text.index("\n}")].splitlines()[1:]):
        if label := LABEL.match(line):
            block = label[1]
        if label or not line or line.startswith(";"):
            continue
        function.blocks.setdefault(block, []).append(line)
        if definition := DEFINITION.match(line):
            function.definitions[definition[1]] = definition[2]
            if definition[2].startswith("alloca ") and not definition[2].startswith("alloca ["):
                function.variables.add(definition[1])
    for block, lines in function.blocks.items():
        function.successors[block] = TARGET.findall(lines[-1])
    return function


def instruction_of(line: str, function: FunctionText) -> str | None:
    """A memory access, a call or a floating-point operation, with its type; None for all other instructions.

    Accesses to variables and to the argument slots do not count.
    """
    definition = DEFINITION.match(line)
    text = definition[2] if definition else line
    if access := MEMORY_ACCESS.match(text):
        kind, type_, address = access.groups()
        is_argument = "ptr %args," in function.definitions.get(address, "")
        return None if address in function.variables or is_argument else f"{kind} {type_}"
    if arithmetic := ARITHMETIC.match(text):
        return f"{arithmetic[1]} {arithmetic[2]}"
    if call := CALL.match(text):
        result, name, first = call.groups()
        type_ = first if result == "void" else result
        return call_name(name) if type_ in (None, "ptr") else f"{call_name(name)} {type_}"
    return None


def call_name(name: str) -> str:
    """The name of a function; of an intrinsic without `llvm.` and the suffix of its types."""
    return OVERLOAD_SUFFIX.sub("", name.removeprefix("llvm."))


def resolve_operand(
    operand: str | None, function: FunctionText, parameters: Sequence[str], depth: int = 3
) -> str | None:
    """A number, a bound of the units, the name of a parameter or variable, or a short expression of them; else None."""
    if operand is None or not depth:
        return None
    if not operand.startswith("%"):
        return operand
    if operand in ("%first", "%last"):
        return operand[1:]
    text = function.definitions.get(operand, "")
    if text.startswith("load i64, ptr "):
        return resolve_load(text, function, parameters)
    opcode, operands = text.partition(" ")[0], OPERANDS.match(text)
    if opcode not in INFIX or operands is None:
        return None
    left, right = (resolve_operand(part, function, parameters, depth - 1) for part in operands.groups())
    return None if left is None or right is None else f"({left} {INFIX[opcode]} {right})"


def resolve_load(text: str, function: FunctionText, parameters: Sequence[str]) -> str | None:
    """The name of the parameter or variable that an instruction loads; None for any other memory."""
    address = text.removeprefix("load i64, ptr ").partition(",")[0]
    if variable := re.fullmatch(r"%l\d+_(\w+)", address):
        return variable[1]
    slot = re.fullmatch(r"getelementptr \w+, ptr %args, i64 (\d+)", function.definitions.get(address, ""))
    return parameters[int(slot[1])] if slot and int(slot[1]) < len(parameters) else None
