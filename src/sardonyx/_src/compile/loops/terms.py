"""Values as text that tells them apart, and is as short as they are: what is one object stands in it once."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.loops.ir import Apply, Cast, Load, Local, Number, Scalar, Select, distinct


def described(values: Sequence[Scalar]) -> str:
    """Values as assignments `0=add(i0,1.0)`, to numbers in the order in which they are worked out; results last."""
    names: dict[int, str] = {}
    lines: list[str] = []
    for value in values:
        for one in reversed(list(distinct(value))):
            if id(one) not in names:
                text = operation(one, names)
                names[id(one)] = text if isinstance(one, Local | Number) else str(len(lines))
                if not isinstance(one, Local | Number):
                    lines.append(f"{len(lines)}={text}")
    return ";".join([*lines, ",".join(names[id(value)] for value in values)])


def operation(value: Scalar, names: dict[int, str]) -> str:
    """One operation on values that have names already."""
    match value:
        case Number():
            return repr(value.value) + "n"
        case Local():
            return value.name
        case Apply():
            return f"{value.op}({','.join(names[id(a)] for a in value.args)})"
        case Cast():
            return f"{value.dtype.text}({names[id(value.value)]})"
        case Select():
            a, b, then, otherwise = (
                names[id(one)] for one in (value.a, value.b, value.then, value.otherwise)
            )
            return f"{value.op}({a},{b})?{then}:{otherwise}"
        case Load():
            return f"{value.buffer}[{value.at}]"
