"""ReferenceEvaluator: the interface of onnx.reference.ReferenceEvaluator, executed by `sardonyx.Session`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sardonyx._src.arguments import (
    items_of,
    require_flag,
    require_integer,
    require_mapping,
    require_type,
    texts_of,
)
from sardonyx._src.compat.onnx.new_operators import define_operators
from sardonyx._src.errors import InputError
from sardonyx._src.io.loading.load import ModelSource, load
from sardonyx._src.ir import Node, Type
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.declarations.shape_policy import ShapePolicy
from sardonyx._src.runtime.session.session import Session

MAX_SHOWN = 10  # elements of a value that `verbose` prints


class ReferenceEvaluator:
    """Evaluates a model node by node with the reference kernels.

    proto: a path, bytes, an `onnx.ModelProto`, or any other source of a model; functions and single nodes are refused.
    verbose: 0 is silent, 1 prints each node, 2 also prints its results.
    new_ops: classes with `op_domain` and `_run(self, *inputs, **attributes)`, such as subclasses of
        `onnx.reference.op_run.OpRun`; all sessions of the process know these operators from then on.
    The attribute `session` is the underlying `sardonyx.Session`.

    Raises what `sx.Session` raises.
    """

    def __init__(
        self,
        proto: ModelSource,
        opsets: Mapping[str, int] | None = None,
        functions: Sequence[object] | None = None,
        verbose: int = 0,
        new_ops: Sequence[type] | None = None,
        check_shape_annotations: bool = False,
    ) -> None:
        require_integer("verbose", verbose, 0)
        require_flag("check_shape_annotations", check_shape_annotations)
        if opsets is not None or (
            functions is not None and items_of("functions", functions, object, "functions")
        ):
            what = "opsets and functions belong to evaluators of nodes and functions; only models are evaluated here"
            raise InputError(what, name="opsets" if opsets is not None else "functions")
        model = load(proto)
        classes = () if new_ops is None else items_of("new_ops", new_ops, type, "classes")
        define_operators(classes, model)
        self.verbose = verbose
        shapes: ShapePolicy = "strict" if check_shape_annotations else "off"
        self.session = Session(model, engine="reference", shapes=shapes)

    @property
    def input_names(self) -> list[str]:
        return [value.name for value in self.session.inputs]

    @property
    def output_names(self) -> list[str]:
        return [value.name for value in self.session.outputs]

    @property
    def input_types(self) -> list[Type | None]:
        return [value.type for value in self.session.inputs]

    @property
    def output_types(self) -> list[Type | None]:
        return [value.type for value in self.session.outputs]

    @property
    def opsets(self) -> dict[str, int]:
        """The imported operator sets."""
        return dict(self.session.model.opset_imports)

    def run(
        self,
        output_names: Sequence[str] | None,
        feed_inputs: Mapping[str, object],
        attributes: Mapping[str, object] | None = None,
        intermediate: bool = False,
    ) -> Any:
        """The results in the order of `output_names`, by default of all outputs.

        intermediate: whether to return a dict of all values of the run instead, by name, with feeds and outputs.
        attributes: must be empty; it is for functions, which are not evaluated here.
        """
        require_flag("intermediate", intermediate)
        if attributes is not None:
            require_mapping("attributes", attributes, str, object, "names to values")
        if attributes:
            raise InputError(
                "attributes belong to evaluators of functions; only models are evaluated here",
                name="attributes",
            )
        names = self.output_names if output_names is None else list(texts_of("output_names", output_names))
        if not intermediate and not self.verbose:
            results = self.session.run(feed_inputs, names)
            return [results[name] for name in names]
        values = self.trace(feed_inputs)
        if intermediate:
            return values
        unknown = [name for name in names if name not in self.output_names]
        if unknown:
            raise InputError(f"the model has no output {unknown[0]!r}", name=unknown[0])
        return [values[name] for name in names]

    def trace(self, feeds: Mapping[str, object]) -> dict[str, object]:
        """All values of the main graph by name."""
        require_type("feed_inputs", feeds, Mapping, "a dict from input names to values")
        values: dict[str, object] = dict(feeds)
        graph = self.session.model.graph
        values |= {
            name: value.initializer.numpy() for name, value in graph.initializers.items() if value.initializer
        }
        for node, results in self.session.trace(feeds):
            if self.verbose:
                self.print_node(node, results)
            if node.graph is graph:
                values |= {v.name: result for v, result in zip(node.outputs, results, strict=False) if v.name}
        return values

    def print_node(self, node: Node, results: Sequence[RuntimeValue]) -> None:
        inputs = ", ".join("" if value is None else value.name for value in node.inputs)
        outputs = ", ".join(value.name for value in node.outputs)
        sys.stdout.write(f"{node.op_type}({inputs}) -> {outputs}\n")
        if self.verbose > 1:
            for value, result in zip(node.outputs, results, strict=False):
                sys.stdout.write(f" + {value.name}: {describe(result)}\n")


def describe(value: RuntimeValue) -> str:
    """Element type, shape and first elements of an array; the type of another value."""
    if not isinstance(value, np.ndarray):
        return type(value).__name__
    shown = ", ".join(map(str, value.reshape(-1)[:MAX_SHOWN].tolist()))
    return f"{value.dtype}:{value.shape}: {shown}{', ...' * (value.size > MAX_SHOWN)}"
