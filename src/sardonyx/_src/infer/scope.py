"""Type inference over the nodes of a graph, with its subgraphs and calls of model-local functions.

A walk (`Walk`) is a traversal of a graph as a generator.  It yields the walks of subgraphs and called functions, and
continues when they are done, so that nesting does not use Python's stack (`run_walk`).  A facet is a function of an
operator, such as the one that infers output types; elements are known if inference can tell them (`infer.elements`).
To "type" a value is to infer and set its type.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeAlias

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InferenceError, InvalidModel, UnsupportedOperator
from sardonyx._src.infer.context import NeedsSubgraph, NodeInferenceContext, ReplayState
from sardonyx._src.infer.facet_calls import call_infer_facet, check_element_types, is_of_known_size
from sardonyx._src.infer.folding import infer_elements
from sardonyx._src.infer.memo_cache import MEMO_CACHE, Key, OutputTypes, elements_key
from sardonyx._src.infer.merge import formal_type, join_types, merge_types
from sardonyx._src.infer.plan import InferencePlan
from sardonyx._src.infer.state import CallResult, InferenceState
from sardonyx._src.ir import Function, Graph, Node, Tensor, TensorType, Type, Value
from sardonyx._src.ir.parameters import bind_parameters
from sardonyx._src.ir.references import Bindings, bound_attributes
from sardonyx._src.ir.walk import graphs, location, values
from sardonyx._src.ops.bind import literal_of, schema_of
from sardonyx._src.ops.control.joins import drop_shape
from sardonyx._src.ops.inference import DimPair, Iteration, Known
from sardonyx._src.ops.registry import find
from sardonyx._src.ops.tensor.elements import SIZE_TYPES

Walk: TypeAlias = "Generator[Walk, None, None]"
# A walk that returns the types of a node's outputs.
NodeWalk: TypeAlias = "Generator[Walk, None, Sequence[Type | None]]"


@dataclass(frozen=True, slots=True)
class InferenceScope:
    """The environment of nodes.

    imports: the operator-set imports.
    bindings: in a function, the attributes of the call.
    scopes: the defining scope of each subgraph that was passed as an attribute.
    is_certain: whether every run of the model executes the nodes.  In a branch, and in the functions that it calls, types
    that contradict an operator are no error, since the branch may never be taken.
    """

    state: InferenceState
    imports: Mapping[str, int]
    bindings: Bindings = field(default_factory=dict)
    scopes: Mapping[Graph, InferenceScope] = field(default_factory=dict)
    is_certain: bool = True

    def graph(self, graph: Graph) -> Walk:
        """Types the values of a graph; its inputs must be typed.

        Most nodes of a large model hit the memo cache.  Hits are handled in this one function, since a call
        would cost as much as the lookup.
        """
        state = self.state
        self.note_initializers(graph)
        plans = state.plans_of("", self.imports)
        look_up, untyped, observer = MEMO_CACHE.entries.get, state.untyped, state.observer
        equal_dims = state.equal_dims
        literals = state.elements.has_literals
        for node in graph.nodes:
            op_type, outputs = node.op_type, node._outputs
            if op_type == "Constant" and literals and (tensor := literal_of(node)) is not None:
                result = look_up((tensor.dtype, tensor.shape))
                types = result.types if type(result) is OutputTypes else type_of(tensor)
            else:
                plan = None if node.domain else plans.get(op_type)
                key = None if plan is None else plan.key(node)
                result = look_up(key)
                if plan is None or type(result) is not OutputTypes:
                    yield from self.node(node, key)
                    continue
                types, equal_dims[node] = result.types, result.equal_dims
                if result.may_be_small and plan.infers_elements:
                    self.put_lazy_elements(node, plan, result)
                if observer is not None:
                    types = observer.on_node(self, node, plan, types, None)
            if len(outputs) == 1 and types:
                value = outputs[0]
                if value.type is None and value.name:
                    value.type = types[0]
                    untyped.append(value)
                    continue
            self.set_types(node, types)

    def note_initializers(self, graph: Graph) -> None:
        """Stores the elements of initializers that no feed can replace.

        Initializers that are inputs can be replaced.  Up to IR version 3, all initializers must be inputs, so that being
        one does not show that replacement is intended.
        """
        state = self.state
        replaceable = frozenset(graph.inputs) if state.model.ir_version >= 4 else frozenset()
        for value in graph.initializers.values():
            if value not in replaceable and isinstance(value.initializer, Tensor):
                state.elements.put(value, value.initializer)

    def node(self, node: Node, key: Key | None) -> Walk:
        """Types the outputs of a node and stores their known elements.

        key: the memo-cache key of the node, if the caller has computed it.
        """
        types: Sequence[Type | None] = ()
        plan = failure = None
        try:
            plan = self.plan(node)
            if plan is not None:
                types = yield from self.infer_outputs(node, plan, key or plan.key(node))
            elif (function := self.state.function_of(node)) is not None:
                types = yield from self.call(node, function)
        except (InferenceError, InvalidModel) as error:
            about = error.about if isinstance(error, InferenceError) else ""
            failure = InferenceError(error.why, location=error.location or location(node), about=about)
            self.report(failure, is_certain=self.is_certain or isinstance(error, InvalidModel))
        if self.state.observer is not None:
            types = self.state.observer.on_node(self, node, plan, types, failure)
        self.set_types(node, types)

    def set_types(self, node: Node, types: Sequence[Type | None]) -> None:
        """Types the outputs of a node: inferred types merged with declared ones."""
        for i, value in enumerate(node.outputs):
            if value.name:
                inferred = types[i] if i < len(types) else None
                declared = self.note_declared_type(value)
                if declared is None or inferred is None:
                    value.type = inferred if declared is None else declared
                else:
                    self.merge_declaration(value, declared, inferred, node)

    def note_declared_type(self, value: Value) -> Type | None:
        """The declared type of a value, which is recorded before an inferred type replaces it."""
        if value.type is None:
            self.state.untyped.append(value)
        else:
            self.state.declared[value] = value.type
        return value.type

    def merge_declaration(self, value: Value, declared: Type, inferred: Type, node: Node) -> None:
        """Types a value that has both a declared and an inferred type."""
        state, failure = self.state, None
        try:
            value.type = merge_types(declared, inferred)
        except InferenceError as error:
            failure = at_location(error, f"{node.name or node.op_type!r} output {value.name!r}")
            value.type = inferred
        if state.observer is not None:
            state.observer.on_declared_type(self, value, node, declared, inferred, failure)
        if failure is not None:
            self.report(failure, is_certain=self.is_certain)

    def report(self, error: InferenceError, *, is_certain: bool) -> None:
        """Reports an error, or only counts it if a run may not execute the node.

        A wrong element type is always reported: no values at run time can make it right.
        """
        if is_certain or error.about == "element type":
            self.state.report(error)
        else:
            self.state.uncertain_errors += 1

    # --- operators ----------------------------------------------------------------------------

    def plan(self, node: Node) -> InferencePlan | None:
        """The plan of the node's operator; None if the node calls a function or its operator is unknown."""
        state = self.state
        plans = state.plans_of(node.domain, self.imports)
        if node.op_type in plans:
            return plans[node.op_type]
        if state.function_of(node):
            return None
        plan = self.new_plan(node)
        if all((node.domain, node.op_type) != name[:2] for name in state.model.functions):
            plans[node.op_type] = plan
        return plan

    def new_plan(self, node: Node) -> InferencePlan | None:
        """The plan of the node's operator; None if the operator is unknown, or its types cannot be inferred."""
        try:
            schema = schema_of(node, self.imports)
        except UnsupportedOperator:
            return None
        op = find(node.domain, node.op_type)
        infer = op.infers.get(schema.since_version) if op is not None else None
        if op is None or (infer is None and schema.since_version not in op.bodies):
            return None
        return InferencePlan(op, schema, infer)

    def infer_outputs(self, node: Node, plan: InferencePlan, key: Key | None) -> NodeWalk:
        """The output types of a node, from the memo cache or from its infer facet; also stores known elements."""
        if plan.infer is None:
            return (yield from self.infer_by_body(node, plan))
        elements = self.state.elements
        result = plan.look_up(key, node, elements)
        if result is not None:
            self.state.equal_dims[node] = result.equal_dims
        else:
            if plan.has_subgraphs:
                context, result = yield from self.infer_with_subgraphs(node, plan)
            else:
                context = self.new_context(node, plan)
                result = call_infer_facet(context, plan)
            if not context.is_unique:
                plan.store(key, context.inputs_read, result, node, elements)
            self.state.equal_dims[node] = result.equal_dims
            if context.output_elements:
                for value, known in zip(node.outputs, context.output_elements, strict=False):
                    elements.put(value, known)
                return result.types
        if result.may_be_small and plan.infers_elements:
            self.put_lazy_elements(node, plan, result)
        return result.types

    def infer_by_body(self, node: Node, plan: InferencePlan) -> NodeWalk:
        """The output types of a node whose operator has a body and no infer facet, inferred from a call of the body.

        () if the body depends on types that are not known.
        """
        # Lazy: few operators are inferred by their bodies, whose texts need a parser.
        from sardonyx._src.ops.function_bodies import body_of

        state, context = self.state, self.new_context(node, plan)
        check_element_types(context, plan)
        try:
            function = body_of(plan.op, context)
        except InferenceError:
            if all(map(is_of_known_size, context.inputs, context.given)):
                raise
            return ()
        assert function is not None, f"{plan.op.name} has neither an infer facet nor a body"
        function = state.own_copy(function)
        if not state.try_enter(function.body):
            return ()
        inner = InferenceScope(
            state,
            function.opset_imports,
            bind_parameters(function, bound_attributes(node, self.bindings)),
            is_certain=self.is_certain,
        )
        with state.trial() as errors:
            for i, value in enumerate(function.body.inputs):
                actual = node.inputs[i] if i < len(node.inputs) else None
                inner.bind_formal(value, None if actual is None else actual.type, state.elements.get(actual))
            yield inner.graph(function.body)
        if errors:
            raise InferenceError(f"{node.op_type}: {errors[0].why}", about=errors[0].about)
        for value, result in zip(node.outputs, function.body.outputs, strict=False):
            state.elements.put(value, state.elements.get(result))
        return [v.type for v in function.body.outputs]

    def infer_with_subgraphs(
        self, node: Node, plan: InferencePlan
    ) -> Generator[Walk, None, tuple[NodeInferenceContext, OutputTypes]]:
        """Calls the infer facet of an operator with subgraphs, and calls it again after each subgraph that it needs."""
        replay = ReplayState()
        while True:
            context = self.new_context(node, plan)
            context.replay = replay
            try:
                return context, call_infer_facet(context, plan)
            except NeedsSubgraph as request:
                result = yield from self.walk_subgraph(request)
                replay.results.append(result)

    def new_context(self, node: Node, plan: InferencePlan) -> NodeInferenceContext:
        inputs = node.inputs
        return NodeInferenceContext(
            node.op_type,
            plan.version,
            [None if v is None else v.type for v in inputs],
            [v is not None for v in inputs],
            plan.attributes.bind(node, self.bindings),
            len(node.outputs),
            (),
            None,
            "",
            self.state.new_symbol,
            inputs,
            self.state.elements,
            self.state.iteration_budget,
        )

    def equal_dims(self, node: Node) -> Sequence[DimPair]:
        """The pairs of input sizes that the operator of a node requires to be equal."""
        return self.state.equal_dims.get(node, ())

    def put_lazy_elements(self, node: Node, plan: InferencePlan, result: OutputTypes) -> None:
        """Stores lazy elements of the outputs, which are inferred at first use."""

        def compute() -> Sequence[Known | None]:
            folds_rounded = self.state.folds_rounded
            return infer_elements(
                plan, self.new_context(node, plan), result, node, folds_rounded=folds_rounded
            )

        inputs: Sequence[Value | None] = node.inputs
        if plan.has_subgraphs:
            inputs = [*inputs, *(value for graph in node.subgraphs for value in graph.outputs)]
        try:
            if plan.maps_elements and inputs and inputs[0] is not None and self.is_opaque(inputs[0]):
                return
            self.state.elements.put_lazy(node.outputs, inputs, compute, needs_all=plan.value is None)
        except InvalidModel as error:  # the data of a tensor are invalid for its element type
            self.state.report(InferenceError(error.why, location=error.location))

    def is_opaque(self, value: Value) -> bool:
        """Whether nothing is known of the elements of a value.

        For types in `COUNTED_TYPES`, something is always known: the number of elements.
        """
        type_ = value.type
        if not isinstance(type_, TensorType) or type_.dtype in SIZE_TYPES:
            return False
        return self.state.elements.peek(value) is None

    # --- subgraphs and functions --------------------------------------------------------------

    def walk_subgraph(
        self, request: NeedsSubgraph
    ) -> Generator[Walk, None, list[Type | None] | Iteration | None]:
        """The result of walking a subgraph with the requested input types.

        Errors in a graph that is never executed, or in a single iteration, are not reported: the facet also requests the
        types that hold in all iterations.
        """
        state, graph, purpose = self.state, request.graph, request.purpose
        if purpose == "iteration":
            state.begin_iteration(graph)
        elif not state.try_enter(graph):
            return [None] * len(graph.outputs)
        if purpose == "types":
            yield from self.subgraph(request)
            return [v.type for v in graph.outputs]
        with state.trial() as errors:
            yield from self.subgraph(request)
            known = [state.elements.get(v) for v in graph.outputs]
        return None if errors else Iteration([v.type for v in graph.outputs], known)

    def subgraph(self, request: NeedsSubgraph) -> Walk:
        """Walks a subgraph after binding its inputs, in the scope in which the subgraph is defined."""
        types, known = request.inputs, request.known
        for i, value in enumerate(request.graph.inputs):
            self.bind_formal(
                value, types[i] if i < len(types) else None, known[i] if i < len(known) else None
            )
        scope = self.scopes.get(request.graph, self)
        is_certain = self.is_certain and request.is_certain
        yield (scope if is_certain == scope.is_certain else replace(scope, is_certain=is_certain)).graph(
            request.graph
        )

    def bind_formal(self, value: Value, actual: Type | None, known: Known | None) -> None:
        """Types an input of a subgraph or function, and stores its elements."""
        declared = self.note_declared_type(value)
        value.type = formal_type(declared if self.state.trusts_formals else drop_shape(declared), actual)
        self.state.elements.put(value, known)

    def call(self, node: Node, function: Function) -> NodeWalk:
        """The types of the outputs of a call of a model-local function.

        Equal calls have equal results unless they create symbols or report errors, so that the body is walked once for
        them.  Otherwise a chain of n functions, each of which calls the next one twice, would be walked 2^n times.
        """
        key = self.call_key(node, function)
        result = None if key is None else self.state.calls.get(key)
        if result is None:
            before = self.state.symbol_count, self.error_count()
            result = yield from self.walk_call(node, function)
            if result is None:
                return ()
            if key is not None and before == (self.state.symbol_count, self.error_count()):
                self.state.calls[key] = result
        for value, known in zip(node.outputs, result.elements, strict=False):
            self.state.elements.put(value, known)
        return result.types

    def call_key(self, node: Node, function: Function) -> Hashable:
        """The key of a call's result: the function, and types and elements of the inputs.

        None in a trial, which `join_calls` does not count, and for a call with attributes.
        """
        if node.attributes or self.state.trial_depth:
            return None
        inputs = (
            None if value is None else (value.type, elements_key(self.state.elements, value))
            for value in node.inputs
        )
        return (function, *inputs)

    def error_count(self) -> int:
        """A number that grows when a walk reports an error or gives up a graph."""
        return len(self.state.errors or ()) + len(self.state.given_up) + self.state.uncertain_errors

    def walk_call(self, node: Node, function: Function) -> Generator[Walk, None, CallResult | None]:
        """The result of walking the body of a function for a call; None if the budget for walks is exhausted."""
        state, body = self.state, function.body
        if not state.try_enter(body):
            return None
        arguments = bound_attributes(node, self.bindings)
        bindings = bind_parameters(function, arguments)
        subgraphs = [graph for attribute in arguments.values() for graph in attribute.graphs]
        scopes = {graph: self.scopes.get(graph, self) for graph in subgraphs}
        inner = InferenceScope(state, function.opset_imports, bindings, scopes, self.is_certain)
        for i, value in enumerate(body.inputs):
            actual = node.inputs[i] if i < len(node.inputs) else None
            inner.bind_formal(value, None if actual is None else actual.type, state.elements.get(actual))
        yield inner.graph(body)
        inner.join_calls(function)
        return CallResult([v.type for v in body.outputs], list(map(state.elements.get, body.outputs)))

    def join_calls(self, function: Function) -> None:
        """Joins the types of a function's values with their types in earlier calls; not in a trial."""
        if self.state.trial_depth:
            return
        joined = self.state.in_functions
        for graph in graphs(function.body):
            for value in values(graph):
                joined[value] = join_types(joined[value], value.type) if value in joined else value.type


def at_location(error: InferenceError, where: str) -> InferenceError:
    return InferenceError(error.why, location=where, about=error.about)


def type_of(tensor: Tensor) -> Sequence[Type | None]:
    """The type of a tensor, as a sequence; tensors of equal types share one object."""
    key = tensor.dtype, tensor.shape
    result = MEMO_CACHE.entries.get(key)
    if type(result) is not OutputTypes:
        result = OutputTypes(TensorType(*key))
        MEMO_CACHE.put(key, result)
    return result.types
