"""Operators of the libraries that a program registers: those that onnxruntime-extensions has defined by Python functions.

No library is loaded, since its kernels are machine code for onnxruntime.  `@onnx_op` of onnxruntime-extensions keeps Python
functions, which run here as they do there; a model that uses any other operator of a library is not opened.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence

from sardonyx._src.compat.notices import note_once
from sardonyx._src.compat.onnxruntime.exceptions import (
    NotImplemented,  # onnxruntime's name
)
from sardonyx._src.compat.onnxruntime.python_operators import PythonOperator, define_operator
from sardonyx._src.io.loading.load import ModelSource, load
from sardonyx._src.ir import Model
from sardonyx._src.ir.walk import nodes, roots
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import domains, vendor_domains

PACKAGE = "onnxruntime_extensions"
DOMAIN = "ai.onnx.contrib"  # of its operators, but those whose name is "domain::name"
Name = tuple[str, str]  # domain and name of an operator


def operators_of_libraries(
    source: ModelSource, libraries: Sequence[str]
) -> tuple[Callable[..., object], ...]:
    """Functions for `sardonyx.Session(operators=)`: the operators in Python that the model uses.

    Raises NotImplemented with the names of all operators of the model that have no definition.
    """
    if not libraries:
        return ()
    used = set(operator_names(source if isinstance(source, Model) else load(source)))
    definitions = {name: group for name, group in defined_in_python(libraries).items() if name in used}
    missing = sorted(name for name in used - definitions.keys() if is_undefined(*name))
    if missing:
        names = ", ".join(f"{domain or 'ai.onnx'}.{op_type}" for domain, op_type in missing)
        raise NotImplemented.of(
            f"{', '.join(libraries)}: the operators of a library are machine code for onnxruntime and are not loaded; "
            f"the model uses {names}: define them with sardonyx.operator"
        )
    return tuple(define_operator(*name, tuple(group)) for name, group in definitions.items())


def operator_names(model: Model) -> Iterator[Name]:
    """The operators that nodes of the model use, calls of its functions apart."""
    for root in roots(model):
        for node in nodes(root):
            if (node.domain, node.op_type, node.overload) not in model.functions:
                yield node.domain, node.op_type


def is_undefined(domain: str, op_type: str) -> bool:
    """Whether neither a specification nor a caller defines an operator."""
    return domain not in (*domains(), *vendor_domains()) and find(domain, op_type) is None


def defined_in_python(libraries: Sequence[str]) -> dict[Name, list[PythonOperator]]:
    """The definitions by `@onnx_op`, if its library is among these, by operator: one for each list of element types."""
    package = sys.modules.get(PACKAGE)
    if package is None or not any(os.path.samefile(path, package.get_library_path()) for path in libraries):
        for path in libraries:
            note_once(f"{path} is not loaded: its operators are machine code for onnxruntime")
        return {}
    groups: dict[Name, list[PythonOperator]] = {}
    for definition in list(package.Opdef._odlist.values()):  # where `@onnx_op` keeps them
        domain, _, name = definition.op_type.rpartition("::")
        groups.setdefault((domain or DOMAIN, name), []).append(definition)
    return groups
