"""Models and targets of libraries: inputs that are constants, fixed sizes, classes of processors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sardonyx._src.compile.llvm.host_target import compile_for_class, find_class
from sardonyx._src.compile.llvm.jit import compile_target
from sardonyx._src.errors import InputError
from sardonyx._src.export.interface import KEYWORDS
from sardonyx._src.ir import Model, Tensor, TensorType
from sardonyx._src.tools.set_dims import set_dims

TILES = (
    "amx-tile"  # a feature that the system permits to a process that asks for it, which a library does not
)


def require_prefix(prefix: str) -> None:
    """Raises InputError unless a prefix is an identifier of C that begins with a letter."""
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", prefix) or prefix in KEYWORDS:
        raise InputError(
            f"prefix must be an identifier of C that begins with a letter; got {prefix!r}", name="prefix"
        )


def fix_inputs(model: Model, sizes: Mapping[str, int], constants: Mapping[str, object]) -> Model:
    """The model with these sizes, and with constants instead of these inputs."""
    fixed = set_dims(model, dims=sizes) if sizes else model
    if not constants:
        return fixed
    fixed = fixed.copy()
    inputs = {value.name: value for value in fixed.graph.inputs}
    for name, elements in constants.items():
        value = inputs.get(name)
        if value is None or not isinstance(value.type, TensorType):
            raise InputError(
                f"constants must be inputs that are tensors ({', '.join(inputs)}); got {name!r}", name=name
            )
        if value.name in fixed.graph.initializers:
            fixed.graph.remove_initializer(value)
        value.initializer = Tensor.of(elements, value.type.dtype, name)
        fixed.graph.add_initializer(value)
    return fixed


@contextmanager
def compile_for_library(processor: str) -> Iterator[None]:
    """Compiles for a class in this context, for its base class if it has tiles; "": for that of this machine."""
    with compile_for_class(processor):
        name = compile_target().class_name
    while name and TILES in find_class(name).features:
        name = find_class(name).base
    with compile_for_class(name or processor):
        yield
