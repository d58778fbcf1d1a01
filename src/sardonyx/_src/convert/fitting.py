"""Whether a node fits the signature of another version of its operator, and what has to be written out for it to."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Attribute, Value
from sardonyx._src.ir.types import OptionalType, SequenceType, TensorType, Type
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.bind import default_of, plain
from sardonyx._src.ops.change import Change, Kept
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import OpSchema


def fitted(c: Change, kept: Kept, old: OpSchema, new: OpSchema) -> dict[str, Attribute]:
    """The attributes with which the node says in `new` what it says in `old`; refused where it cannot be said."""
    check_inputs(c, kept.inputs, new)
    check_outputs(c, kept.outputs, new)
    result = dict(kept.attributes)
    for name, attribute in kept.attributes.items():
        declared = new.attributes.get(name)
        if declared is None:
            if not may_be_dropped(c, attribute, old):
                shown = f"@{attribute.ref}" if attribute.ref else plain(attribute.value)
                c.refuse(f"it has no attribute {name!r} there, and the node has {name} = {shown}")
            del result[name]
        elif AttributeType[declared.type] is not c.kind_of(attribute):
            c.refuse(f"attribute {name!r} is of type {declared.type} there, not {attribute.type.name}")
    if kept.op_type == old.name:
        write_out(result, old, new)
    missing = [a.name for a in new.attributes.values() if a.required and a.name not in result]
    if missing:
        c.refuse(f"attribute {missing[0]!r} is required there")
    return result


def check_own(c: Change, old: OpSchema) -> None:
    """Refuses a node that does not fit its own version, of which facets and bodies can make nothing.

    What may be a sequence or an optional is left out: what a value is there can be known too late.
    """
    for i, value in enumerate(c.node.inputs):
        parameter = old.input(i)
        if parameter is None:
            c.refuse(f"{old.name} takes at most {old.max_inputs} inputs, the node has {len(c.node.inputs)}")
        allowed = old.allowed(parameter)
        word = None if value is None else type_word(value.type)
        if word is not None and word not in allowed and all(w.startswith("tensor(") for w in allowed):
            c.refuse(f"input {parameter.name!r} is {word}, which {old.name} does not take here, either")
    count = max((i + 1 for i in range(len(c.node.outputs)) if c.wants(i)), default=0)
    if old.max_outputs is not None and count > old.max_outputs:
        c.refuse(f"{old.name} has at most {old.max_outputs} outputs, the node has {count}")


def check_inputs(c: Change, inputs: Sequence[Value | None], new: OpSchema) -> None:
    """Refuses more inputs than the signature has, missing ones, types that it does not take, and such as differ where
    they have to be one."""
    if new.max_inputs is not None and len(inputs) > new.max_inputs:
        c.refuse(f"{new.name} takes at most {new.max_inputs} inputs there, the node has {len(inputs)}")
    bound: dict[str, str] = {}
    for i in range(max(len(inputs), new.min_inputs)):
        value = inputs[i] if i < len(inputs) else None
        parameter = new.input(i)
        assert parameter is not None, f"{new.name}-{new.since_version} has no parameter for input {i}"
        if value is None:
            if parameter.option != "optional":
                c.refuse(f"input {parameter.name!r} is required there")
        elif (word := type_word(value.type)) is not None and word not in new.allowed(parameter):
            c.refuse(f"input {parameter.name!r} of {new.name} is {value.type}, which it does not take there")
        elif word is not None and parameter.homogeneous and "(" not in parameter.type:
            other = bound.setdefault(parameter.type, word)
            if other != word:
                c.refuse(
                    f"input {parameter.name!r} of {new.name} is {word}, and another {other}; they are of one type there"
                )


def check_outputs(c: Change, count: int, new: OpSchema) -> None:
    """Refuses outputs that somebody wants and the signature lacks, and types that it does not give."""
    wanted = max((i + 1 for i in range(count) if c.wants(i)), default=0)
    if new.max_outputs is not None and wanted > new.max_outputs:
        c.refuse(f"{new.name} has at most {new.max_outputs} outputs there, the node has {wanted}")
    for value, i in zip(c.node.outputs[:count], range(wanted), strict=False):
        parameter = new.output(i)
        word = type_word(value.type)
        if parameter is not None and word is not None and word not in new.allowed(parameter):
            c.refuse(f"output {parameter.name!r} of {new.name} is {value.type}, which it does not give there")


def type_word(type: Type | None) -> str | None:
    """A type as signatures write it; None where not all of it is known."""
    if isinstance(type, TensorType):
        return f"tensor({type.dtype.text})"
    if isinstance(type, SequenceType | OptionalType):
        inner = type_word(type.elem)
        kind = "seq" if isinstance(type, SequenceType) else "optional"
        return None if inner is None else f"{kind}({inner})"
    return None


def may_be_dropped(c: Change, attribute: Attribute, old: OpSchema) -> bool:
    """Whether an attribute says nothing that is not said without it."""
    op = find(old.domain, old.name)
    kernel = op.kernels.get(old.since_version) if op is not None else None
    if kernel is not None and attribute.name in kernel.ignores:
        return True
    declared = old.attributes.get(attribute.name)
    if attribute.ref or declared is None or declared.default is None:
        return False
    return plain(attribute.value) == default_of(declared)


def write_out(attributes: dict[str, Attribute], old: OpSchema, new: OpSchema) -> None:
    """Adds attributes that the node leaves out where the two versions have different defaults for them."""
    for name, declared in old.attributes.items():
        other = new.attributes.get(name)
        if name in attributes or other is None or declared.default is None:
            continue
        if other.default != declared.default:
            attributes[name] = Attribute(name, AttributeType[declared.type], declared.default)


def derivable(op: Operator, old: OpSchema, new: OpSchema) -> bool:
    """Whether two versions of an operator mean the same wherever a node fits both signatures.

    One kernel serves both and does not ask which of them it is; an attribute that one of the signatures lacks is,
    for the kernel, what the other has as its default.
    """
    a, b = op.kernels.get(old.since_version), op.kernels.get(new.since_version)
    if a is None or b is None or a.function is not b.function or "version" in names_in(a.function):
        return False
    defaults = getattr(a.function, "__kwdefaults__", None) or {}
    for one, other in ((old, new), (new, old)):
        for name, declared in one.attributes.items():
            if name in other.attributes or name in a.ignores or name in b.ignores:
                continue
            own = defaults.get(name)
            if own != (None if declared.default is None else default_of(declared)):
                return False
    return True


def names_in(function: object) -> tuple[str, ...]:
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return code.co_names if code is not None else ("version",)
