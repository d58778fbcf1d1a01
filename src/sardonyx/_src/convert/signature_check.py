"""Checks of a node against the signature of another version of its operator, and adaptation of its attributes.

In messages, "there" is the target version.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.ir import Attribute, OptionalType, SequenceType, TensorType, Type, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.bind import default_of, plain
from sardonyx._src.ops.registry import find
from sardonyx._src.ops.version_adapter import Adapter, SameOp
from sardonyx._src.schema import OpSchema


def adapt_attributes(
    adapter: Adapter, result_op: SameOp, old: OpSchema, new: OpSchema
) -> dict[str, Attribute]:
    """The attributes with which `new` expresses what the node means in `old`; refused if that is impossible."""
    check_inputs(adapter, result_op.inputs, new)
    check_outputs(adapter, result_op.outputs, new)
    result = dict(result_op.attributes)
    for name, attribute in result_op.attributes.items():
        declared = new.attributes.get(name)
        if declared is None:
            if not is_redundant(adapter, attribute, old):
                shown = f"@{attribute.ref}" if attribute.ref else plain(attribute.value)
                adapter.refuse(f"it has no attribute {name!r} there; got {name} = {shown}")
            del result[name]
        elif AttributeType[declared.type] is not adapter.kind_of(attribute):
            adapter.refuse(
                f"attribute {name!r} must be of type {declared.type} there; got {attribute.type.name}"
            )
    if result_op.op_type == old.name:
        write_changed_defaults(adapter, result, old, new)
    missing = [a.name for a in new.attributes.values() if a.required and a.name not in result]
    if missing:
        adapter.refuse(f"attribute {missing[0]!r} is required there")
    return result


def check_own_version(adapter: Adapter, old: OpSchema) -> None:
    """Refuse a node that is invalid in its own version `old`, which facets and bodies cannot handle.

    Inputs that may be sequences or optionals are not checked, since their types may not be known yet.
    """
    for i, value in enumerate(adapter.node.inputs):
        parameter = old.input(i)
        if parameter is None:
            adapter.refuse(
                f"{old.name} must have at most {old.max_inputs} inputs; got {len(adapter.node.inputs)}"
            )
        allowed = old.allowed_types(parameter)
        word = None if value is None else type_word(value.type)
        if word is not None and word not in allowed and all(w.startswith("tensor(") for w in allowed):
            adapter.refuse(f"input {parameter.name!r} is {word}, which is invalid for {old.name} here, too")
    count = max((i + 1 for i in range(len(adapter.node.outputs)) if adapter.has_output(i)), default=0)
    if old.max_outputs is not None and count > old.max_outputs:
        adapter.refuse(f"{old.name} must have at most {old.max_outputs} outputs; got {count}")


def check_inputs(adapter: Adapter, inputs: Sequence[Value | None], new: OpSchema) -> None:
    """Refuse surplus and missing inputs, types that the signature does not allow, and unequal types for one variable."""
    if new.max_inputs is not None and len(inputs) > new.max_inputs:
        adapter.refuse(f"{new.name} must have at most {new.max_inputs} inputs there; got {len(inputs)}")
    bound: dict[str, str] = {}
    for i in range(max(len(inputs), new.min_inputs)):
        value = inputs[i] if i < len(inputs) else None
        parameter = new.input(i)
        assert parameter is not None, f"{new.name}-{new.since_version} has no parameter for input {i}"
        if value is None:
            if parameter.option != "optional":
                adapter.refuse(f"input {parameter.name!r} is required there")
        elif (word := type_word(value.type)) is not None and word not in new.allowed_types(parameter):
            adapter.refuse(
                f"input {parameter.name!r} of {new.name} is {value.type}, which is not allowed there"
            )
        elif word is not None and parameter.homogeneous and "(" not in parameter.type:
            other = bound.setdefault(parameter.type, word)
            if other != word:
                adapter.refuse(
                    f"input {parameter.name!r} of {new.name} must be {other} there, like another input; got {word}"
                )


def check_outputs(adapter: Adapter, count: int, new: OpSchema) -> None:
    """Refuse used outputs that the signature lacks, and types that it does not allow."""
    used = max((i + 1 for i in range(count) if adapter.has_output(i)), default=0)
    if new.max_outputs is not None and used > new.max_outputs:
        adapter.refuse(f"{new.name} must have at most {new.max_outputs} outputs there; got {used}")
    for value, i in zip(adapter.node.outputs[:count], range(used), strict=False):
        parameter = new.output(i)
        word = type_word(value.type)
        if parameter is not None and word is not None and word not in new.allowed_types(parameter):
            adapter.refuse(
                f"output {parameter.name!r} of {new.name} is {value.type}, which is not allowed there"
            )


def type_word(type: Type | None) -> str | None:
    """A type in the notation of signatures; None unless it is fully known."""
    if isinstance(type, TensorType):
        return f"tensor({type.dtype.text})"
    if isinstance(type, SequenceType | OptionalType):
        inner = type_word(type.elem)
        kind = "seq" if isinstance(type, SequenceType) else "optional"
        return None if inner is None else f"{kind}({inner})"
    return None


def is_redundant(adapter: Adapter, attribute: Attribute, old: OpSchema) -> bool:
    """Whether an attribute has no effect: the kernel ignores it, or it equals the default."""
    op = find(old.domain, old.name)
    kernel = op.kernels.get(old.since_version) if op is not None else None
    if kernel is not None and attribute.name in kernel.ignores:
        return True
    declared = old.attributes.get(attribute.name)
    if attribute.ref or declared is None or declared.default is None:
        return False
    return plain(attribute.value) == default_of(declared)


def write_changed_defaults(
    adapter: Adapter, attributes: dict[str, Attribute], old: OpSchema, new: OpSchema
) -> None:
    """Set omitted attributes to the old default if the new one differs.

    An attribute that refers to a parameter is refused if calls of the enclosing function may omit it.
    """
    for name, declared in old.attributes.items():
        other = new.attributes.get(name)
        if other is None or declared.default is None or other.default == declared.default:
            continue
        attribute = attributes.get(name)
        if attribute is None:
            attributes[name] = Attribute(name, AttributeType[declared.type], declared.default)
        elif attribute.ref and attribute.ref not in adapter.bound_parameters:
            adapter.refuse_parameter(name)


def derivable(op: Operator, old: OpSchema, new: OpSchema) -> bool:
    """Whether two versions of an operator are equivalent for nodes valid in both.

    They are if they share a kernel that does not read the version, and if for each attribute that only one signature has,
    the default in the kernel is the default in the signature.
    """
    a, b = op.kernels.get(old.since_version), op.kernels.get(new.since_version)
    if a is None or b is None or a.function is not b.function or "version" in referenced_names(a.function):
        return False
    defaults = getattr(a.function, "__kwdefaults__", None) or {}
    for first, second in ((old, new), (new, old)):
        for name, declared in first.attributes.items():
            if name in second.attributes or name in a.ignores or name in b.ignores:
                continue
            own = defaults.get(name)
            if own != (None if declared.default is None else default_of(declared)):
                return False
    return True


def referenced_names(function: object) -> tuple[str, ...]:
    """The names that the code of a function refers to; ("version",), the cautious answer, if it has no Python code."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return code.co_names if code is not None else ("version",)
