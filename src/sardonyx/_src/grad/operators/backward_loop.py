"""The Scan that runs a Loop or Scan backwards and computes its gradients.

It computes the gradients of the initial states, of the scanned tensors and of the values that the body captures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from sardonyx._src.convert.outline import read_values
from sardonyx._src.dataclass import dataclass
from sardonyx._src.grad.active import carries_gradient
from sardonyx._src.grad.operators.control_flow import add_seed, captured_values, copy_inside, fill_inside
from sardonyx._src.grad.operators.repeated_products import matrix_factors, multiply_rows
from sardonyx._src.grad.operators.residuals import Residuals, Slices, reduce_body, uniform_values
from sardonyx._src.ir import Attribute, Graph, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.build import attribute
from sardonyx._src.ops.backward_step import (
    BackwardGraph,
    BackwardStep,
    Gradients,
    ValueGradients,
    add_gradients,
    shape_of,
)


@dataclass(frozen=True, slots=True)
class Iterations:
    """A loop to be run backwards.

    residuals: the values of the iterations that the loop collects for its gradient.
    states: the initial value of each state, by the input of the body that carries the state.
    first_result: the position of the first state among the outputs of the body.
    scanned: the scanned tensors, by the input of the body that receives their slices.
    scan_gradients: the gradient of each scan output, None for one without.
    """

    residuals: Residuals
    states: Mapping[Value, Value]
    first_result: int
    scanned: Mapping[Value, Value]
    scan_gradients: Sequence[Slices | None]


@dataclass(frozen=True, slots=True)
class RowProduct:
    """A gradient of a captured matrix that is a sum over the iterations of products A' B.

    One product after the Scan computes the sum, from the rows of all iterations.
    source: the captured matrix.
    factors: A and B, each a residual with all its slices or a value of the body, which becomes a scan output.
    """

    source: Value
    factors: Sequence[Slices | Value]


def run_backwards(step: BackwardStep, loop: Iterations) -> Gradients:
    """The gradients of initial states, of scanned tensors and of captured values."""
    own = loop.residuals.body
    body = step.graph.copy_body(own)
    originals = dict(zip(body.inputs, own.inputs, strict=True))
    for copy, node in zip(body.nodes, own.nodes, strict=True):
        originals.update(zip(copy.outputs, node.outputs, strict=True))
    scan = BackwardScan(step, loop, body, step.graph.inside(body), originals)
    scan.differentiate()
    return scan.add()


@dataclass(slots=True)
class BackwardScan:
    """The Scan over the iterations of a loop in reverse, under construction.

    body: a copy of the loop's body, followed by the backward nodes.
    originals: the values of the loop's body, by their copies in `body`.
    carried: the initial value of each input of the body that is a state, a gradient that is carried.
    sliced: the tensor of which each other input of the body reads slices.
    finals: pairs of a value outside and the output of the body that carries its gradient.
    written: the scan outputs, by the value that they collect and the axis and direction in which they do.
    scan_targets: pairs of a scanned tensor and the scan output that collects its gradient.
    products: gradients of captured matrices that are computed after the Scan.
    """

    step: BackwardStep
    loop: Iterations
    body: Graph
    inner: BackwardGraph
    originals: dict[Value, Value]
    carried: dict[Value, Value] = field(default_factory=dict)
    sliced: dict[Value, Slices] = field(default_factory=dict)
    finals: list[tuple[Value, Value]] = field(default_factory=list)
    written: dict[tuple[Value, int, int], Value] = field(default_factory=dict)
    scan_targets: list[tuple[Value, Value]] = field(default_factory=list)
    products: list[RowProduct] = field(default_factory=list)

    # --- the body ------------------------------------------------------------------------------

    def differentiate(self) -> None:
        """Adds the backward nodes of an iteration."""
        loop, copies = self.loop, {original: copy for copy, original in self.originals.items()}
        carried = [value for value in loop.states if carries_gradient(value.type)]
        read = [value for value, tensor in loop.scanned.items() if tensor in self.step.active]
        sources = captured_values(self.step, [loop.residuals.body])
        formals = [copies[value] for value in (*carried, *read)]
        terms = self.inner.gradient_terms([*formals, *sources], self.seeds(carried))
        totals = [self.total(formal, parts) for formal, parts in zip(formals, terms, strict=False)]
        for value, total in zip(carried, totals, strict=False):
            self.finals.append((loop.states[value], copy_inside(self.inner, total)))
        for value, total in zip(read, totals[len(carried) :], strict=True):
            slices = loop.residuals.slices[value]
            self.scan_targets.append(
                (loop.scanned[value], self.write(total, slices.axis, 1 - slices.direction))
            )
        varying = self.varying_values()
        for source, parts in zip(sources, terms[len(formals) :], strict=True):
            self.accumulate(source, parts, varying)
        self.body.outputs = [*(value for _, value in self.finals), *self.written.values()]

    def seeds(self, carried: Sequence[Value]) -> dict[Value, Value]:
        """The gradients of the outputs of the body, as new inputs of the body.

        The gradient of a state is carried from iteration to iteration; that of a scan output is a slice of a tensor.
        """
        step, loop, seeds = self.step, self.loop, dict[Value, Value]()
        results = self.body.outputs[loop.first_result :]
        for i, value in enumerate(loop.states):
            if value in carried:
                add_seed(self.inner, seeds, results[i], self.carry(value, step.gradient(i)))
        for value, slices in zip(results[len(loop.states) :], loop.scan_gradients, strict=True):
            if slices is not None:
                argument = self.body.add_input(Value(step.graph.fresh(f"{value.name}_gradient"), value.type))
                self.sliced[argument] = slices
                add_seed(self.inner, seeds, value, argument)
        return seeds

    def carry(self, value: Value, initial: Value) -> Value:
        """Adds a state that carries the gradient of a value; the state has the type of the value."""
        state = self.body.add_input(Value(self.step.graph.fresh(f"{value.name}_gradient"), value.type))
        self.carried[state] = initial
        return state

    def total(self, value: Value, parts: Sequence[Value]) -> Value:
        """The sum of the parts of the gradient of a value."""
        if not parts:
            return fill_inside(self.inner, value)
        total, *others = parts
        for part in others:
            total = add_gradients(self.inner, total, part, value.type)
        return total

    def write(self, value: Value, axis: int, direction: int) -> Value:
        """The scan output that collects a value."""
        key = (value, axis, direction)
        if key not in self.written:
            self.written[key] = copy_inside(self.inner, value)
        return self.written[key]

    def accumulate(self, source: Value, parts: Sequence[Value], varying: set[Value]) -> None:
        """Adds the gradient of a captured value.

        Parts that are products of matrices are computed after the Scan, for all iterations at once; a state sums the other parts.
        """
        rest = []
        for part in parts:
            product = self.row_product(source, part, varying)
            if product is None:
                rest.append(part)
            else:
                self.products.append(product)
        if rest:
            state = self.carry(source, self.step.zeros_like(source))
            self.finals.append((source, copy_inside(self.inner, self.total(source, [state, *rest]))))

    def row_product(self, source: Value, part: Value, varying: set[Value]) -> RowProduct | None:
        """A part of the gradient of a matrix as a product of rows.

        None if the part is no product of matrices, if all iterations share a factor, or if no factor can be a residual.
        """
        factors = matrix_factors(part) if is_matrix(source) else None
        if factors is None or not varying.issuperset(factors):
            return None
        uniform = uniform_values(self.step, self.loop.residuals.body)
        if not any(self.originals.get(factor) in uniform for factor in factors):
            return None
        return RowProduct(source, [self.locate(factor, uniform) for factor in factors])

    def locate(self, value: Value, uniform: set[Value]) -> Slices | Value:
        """The tensor with all slices of a value, in the order of the residuals: a residual, or a new scan output."""
        residuals, original = self.loop.residuals, self.originals.get(value)
        if original in uniform and original is not None:
            slices = residuals.collect(original)
            if (slices.axis, slices.direction) == (0, residuals.direction):
                return slices
        return self.write(value, 0, 1 - residuals.direction)

    def varying_values(self) -> set[Value]:
        """The values of the body that depend on its inputs."""
        varying = set(self.body.inputs)
        for node in self.body.nodes:
            if not varying.isdisjoint(read_values(node)):
                varying.update(node.outputs)
        return varying

    # --- the node ------------------------------------------------------------------------------

    def add(self) -> Gradients:
        """Adds the Scan, and the products after it."""
        if not self.body.outputs:
            return ()
        step = self.step
        self.choose_inputs()
        slices = self.sliced.values()
        attributes = {
            "body": Attribute("body", AttributeType.GRAPH, self.body),
            "num_scan_inputs": attribute("num_scan_inputs", len(self.sliced)),
            "scan_input_axes": attribute("scan_input_axes", [s.axis for s in slices]),
            "scan_input_directions": attribute("scan_input_directions", [1 - s.direction for s in slices]),
        }
        if self.written:
            attributes["scan_output_axes"] = attribute(
                "scan_output_axes", [axis for _, axis, _ in self.written]
            )
            attributes["scan_output_directions"] = attribute(
                "scan_output_directions", [direction for _, _, direction in self.written]
            )
        inputs = [*self.carried.values(), *(s.tensor for s in slices)]
        results = step.add("Scan", inputs, attributes, len(self.body.outputs))
        by_output = dict(zip(self.body.outputs, results, strict=True))
        pairs = [(target, by_output[value]) for target, value in (*self.finals, *self.scan_targets)]
        for product in self.products:
            rows = [f.tensor if isinstance(f, Slices) else by_output[f] for f in product.factors]
            pairs.append((product.source, multiply_rows(step, product.source, rows[0], rows[1])))
        return ValueGradients(pairs)

    def choose_inputs(self) -> None:
        """Sets the inputs of the body: the states, then slices of the tensors that it reads.

        At least one tensor is sliced, since its length is the number of iterations of the Scan.
        """
        residuals, body = self.loop.residuals, self.body
        for argument, value in reduce_body(self.step, body, residuals.body, self.originals).items():
            self.sliced[argument] = residuals.collect(value)
        used = {value for node in body.nodes for value in read_values(node)}
        copies = [value for value in body.inputs if value in self.originals]
        for value in copies:
            if value in used:
                self.sliced[value] = residuals.collect(self.originals[value])
        if not self.sliced:
            value = copies[0 if not self.loop.scanned else -1]
            self.sliced[value] = residuals.collect(self.originals[value])
        for value in body.inputs:
            body.remove_input(value)
        for value in (*self.carried, *self.sliced):
            body.add_input(value)


def is_matrix(value: Value) -> bool:
    """Whether a value has two axes, neither of which is known to be empty."""
    shape = shape_of(value)
    return shape is not None and len(shape) == 2 and 0 not in shape
