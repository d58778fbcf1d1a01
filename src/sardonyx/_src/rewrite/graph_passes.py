"""Passes of callers that are functions of a model; a builder writes the nodes that they insert."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator

from sardonyx._src.arguments import require_choice, require_text, require_type, shown, type_name
from sardonyx._src.build.builder import Builder
from sardonyx._src.build.operand import Operand
from sardonyx._src.build.subgraphs import add_results
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array, Graph, Model, Node, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.walk import nodes, roots
from sardonyx._src.ops.bind import plain
from sardonyx._src.rewrite.api import PHASES, Phase
from sardonyx._src.rewrite.engine.edit import Edit, is_compatible
from sardonyx._src.rewrite.own_passes import register_graph_pass

Expression = Callable[..., object]


class GraphEdit:
    """A model that a pass rewrites: queries, and edits that keep it consistent and typed.

    The nodes and values are those of `sardonyx.ir`; a pass reads them, and changes the model only through the methods here.
    """

    def __init__(self, edit: Edit) -> None:
        self._edit = edit

    @property
    def model(self) -> Model:
        """The model, with inferred types; read only."""
        return self._edit.model

    def nodes(self, op_type: str = "", domain: str = "") -> Iterator[Node]:
        """The nodes with this operator, or all nodes, in all graphs and functions; nodes that an edit removes are left out."""
        require_text("op_type", op_type)
        require_text("domain", domain)
        listed = [node for root in roots(self._edit.model) for node in nodes(root)]
        for node in listed:
            is_wanted = not op_type or (node.domain, node.op_type) == (domain, op_type)
            if is_wanted and not self._edit.is_erased(node):
                yield node

    def attributes(self, node: Node) -> dict[str, object]:
        """The attributes of a node as numbers, strings and lists, with the defaults of its operator."""
        self.require_node(node)
        if self._edit.operator_of(node) is not None:
            return self._edit.attributes(node)
        return {
            name: plain(attribute)
            for name, attribute in node.attributes.items()
            if attribute.type is not AttributeType.GRAPH
        }

    def constant(self, value: Value | None) -> Array | None:
        """The elements of a value that is the same in every run; None for any other value."""
        require_type("value", value, (Value, type(None)), "a Value or None")
        return self._edit.constant(value)

    def replace(self, node: Node, expression: Expression) -> bool:
        """Replaces a node by the nodes that `expression(b, *inputs)` appends to a builder `b`.

        The function returns an operand for each output of the node, and each operand gets the name of its output.  `replace`
        returns False, and changes nothing, if a result has another type than the output.  Raises InputError and
        InferenceError for mistakes in the expression.
        """
        self.require_node(node)
        if not callable(expression):
            raise TypeError(f"expression must be a function of a builder; got {type_name(expression)}")
        edit = self._edit
        imports = edit.imports_of(node)
        builder, body = (
            Builder(imports.get("", 1), imports={d: v for d, v in imports.items() if d}),
            Graph(""),
        )
        given = [value for value in node.inputs if value is not None]
        for i, value in enumerate(given):
            body.add_input(Operand(builder, builder.state.reserve(f"input_{i}"), value.type))
            if (known := edit.elements(value)) is not None:
                builder.state.inference.elements.put(body.inputs[i], known)
        operands = iter(body.inputs)
        arguments = [None if value is None else next(operands) for value in node.inputs]
        with builder.state.scopes.enter(body, is_function=True):
            add_results(builder.state, body, "expression", expression(builder, *arguments))
        if len(body.outputs) != len(node.outputs):
            raise InputError(
                f"expression must return {len(node.outputs)} values, the outputs of {node.op_type}; got {len(body.outputs)}",
                name="expression",
            )
        pairs = zip(body.outputs, node.outputs, strict=True)
        if not all(is_compatible(new.type, old.type) for new, old in pairs):
            return False
        self.import_domains(node, builder)
        edit.transfer_outputs(node, edit.copy(body, given, before=node))
        return True

    def import_domains(self, node: Node, builder: Builder) -> None:
        """Imports the domains that an expression uses into the model, or the function, of the node it replaces."""
        imports = self._edit.imports_of(node)
        for domain, version in builder.imports.items():
            if domain not in imports:
                assert isinstance(imports, dict), "the imports of a model or a function"
                imports[domain] = version

    def replace_uses(self, value: Value, other: Value) -> bool:
        """Makes the readers of a value read another one; returns whether that was possible.

        An output of the model keeps its name.  Nodes are removed if nothing reads their results any longer.
        """
        for name, item in (("value", value), ("other", other)):
            require_type(name, item, Value, "a Value")
        producer = value.producer
        done = self._edit.replace_uses(value, other)
        if done and producer is not None:
            self._edit.prune(producer)
        return done

    def require_node(self, node: object) -> None:
        require_type("node", node, Node, "a Node")
        assert isinstance(node, Node), "checked above"
        if self._edit.is_erased(node):
            raise InputError(f"node must be one of the model; {node.op_type} has been removed", name="node")


GraphFunction = Callable[[GraphEdit], Iterable[str]]


def graph_pass(*, name: str = "", phase: Phase = "simplify") -> Callable[[GraphFunction], GraphFunction]:
    """A decorator that makes a pass of a function of a model; `sx.optimize` calls the function until it changes nothing.

        @graph_pass()
        def expand_gelu(graph):
            for node in graph.nodes("Gelu"):
                if graph.replace(node, lambda b, x: x * b.Sigmoid(x * 1.702)):
                    yield f"Gelu {node.name}"

    The function is called with a `GraphEdit`, and yields a string for the report after each edit.

    name: the name of the pass; by default the name of the function with dashes.
    phase: "expand", "simplify" or "fuse".

    The native engine does not apply the pass when it compiles a model.  Raises InputError for the name of a pass of this
    package.  A second definition replaces the first.
    """
    require_text("name", name)
    require_choice("phase", phase, PHASES)

    def define(function: GraphFunction) -> GraphFunction:
        if not callable(function):
            raise TypeError(f"graph_pass must decorate a function of a GraphEdit; got {type_name(function)}")
        title = name or function.__name__.replace("_", "-")
        about = (inspect.getdoc(function) or title).partition("\n")[0]
        register_graph_pass(title, lambda edit: checked_edits(function, title, edit), phase, about)
        return function

    return define


def checked_edits(function: GraphFunction, name: str, edit: Edit) -> Iterator[str]:
    """The strings that a function yields; raises TypeError for anything else."""
    edits = function(GraphEdit(edit))
    if not isinstance(edits, Iterable) or isinstance(edits, str):
        raise TypeError(f"{name} must yield a string after each edit; it returned {shown(edits)}")
    for text in edits:
        if not isinstance(text, str):
            raise TypeError(f"{name} must yield a string after each edit; got {shown(text)}")
        yield text
