"""Verifier of partitioned graphs: asserts what layout assignment and lowerings rely on.

Every check raises AssertionError with the kind and the nodes of the region that violates it.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType

from sardonyx._src.compile.codegen.expressions import Local, topological_order
from sardonyx._src.compile.partition import FusedEpilogue, Region, RegionGraph
from sardonyx._src.compile.partition.partitioner.verify_roles import RoleVerifier
from sardonyx._src.compile.partition.regions.region import Fallback, describe, name_of
from sardonyx._src.compile.program.steps.guards import can_hold
from sardonyx._src.compile.program.verification.size_facts import SizeFacts
from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.walk import captures
from sardonyx._src.phases import phase

PLAIN_TYPES = frozenset(
    (int, float, bool, str, NoneType)
)  # a search of a config skips them: they have no parts


@phase("verify")
def verify_regions(graph: RegionGraph) -> None:
    """Asserts that the regions of a graph, and those of inlined subgraphs, compute it in their order.

    Each node is in one region, or its outputs are known; each value is computed once, before it is read; what a region
    does not declare as a result is not read outside of it; the outputs of the graph are computed.
    """
    RegionVerifier(graph).verify()


class RegionVerifier:
    """The verification of one graph.

    region_of: the region of each node.
    computed: the results of the regions that are verified so far.
    """

    def __init__(self, graph: RegionGraph) -> None:
        self.graph, self.scope = graph, graph.scope
        self.region_of: dict[Node, Region[object]] = {}
        self.computed: set[Value] = set()

    def verify(self) -> None:
        self.verify_claims()
        self.verify_single_writers()
        for region in self.scope.deferred.values():
            self.verify_region(region)
        for region in self.graph.regions:
            for value in values_read(region):
                assert self.is_available(value), (
                    f"{describe(region)} reads {value.name}, which is not computed yet"
                )
            self.verify_region(region)
            self.computed.update(self.results_of(region))
            outputs = (value for node in region.nodes for value in node.outputs)
            if self.scope.binds_in_python:
                self.computed.update(value for value in outputs if self.scope.data_dependent_axes(value))
        for value in self.scope.outputs:
            assert self.is_available(value), f"no region computes the output {value.name}"

    def verify_claims(self) -> None:
        """Each node is in one region, or its outputs are known without it."""
        for region in self.graph.all_regions:
            for node in region.nodes:
                other = self.region_of.setdefault(node, region)
                assert other is region, (
                    f"{describe(region)} has the node {name_of(node)} of {describe(other)}"
                )
        for node in self.scope.graph.nodes:
            is_known = node in self.region_of or all(map(self.is_known, node.outputs))
            assert is_known, f"no region has the node {name_of(node)}"

    def verify_single_writers(self) -> None:
        """Each value is the result of one region."""
        writers: dict[Value, Region[object]] = {}
        for region in self.graph.all_regions:
            for value in self.results_of(region):
                assert value not in writers, (
                    f"{describe(region)} writes {value.name}, as {describe(writers[value])} does"
                )
                writers[value] = region

    def results_of(self, region: Region[object]) -> tuple[Value, ...]:
        """The results of a region.  Python holds all outputs of a fallback, and of other regions the outputs without dims."""
        if isinstance(region.config, Fallback):
            return tuple(region.anchor.outputs)
        outputs = (
            value for node in region.nodes for value in node.outputs if self.scope.shape(value) is None
        )
        return *region.results, *outputs

    def is_known(self, value: Value) -> bool:
        """Whether a value is constant or computed from input sizes, so that it needs no region."""
        return self.scope.size_elements(value) is not None or self.scope.constant(value) is not None

    def is_available(self, value: Value) -> bool:
        """Whether a value can be read: it is computed or known, or a deferred region can compute it now."""
        if value in self.computed or value.producer is None or value.producer.graph is not self.scope.graph:
            return True
        deferred = self.scope.deferred.get(value)
        return self.is_known(value) or (
            deferred is not None and all(map(self.is_available, values_read(deferred)))
        )

    def verify_region(self, region: Region[object]) -> None:
        outputs = {value for node in region.nodes for value in node.outputs}
        results = set(self.results_of(region))
        for value in results - outputs:
            raise AssertionError(f"{describe(region)} writes {value.name}, which none of its nodes computes")
        for value in outputs - results:
            assert not self.is_read_outside(value, region), (
                f"{describe(region)} does not write {value.name}, which is read"
            )
        if region.epilogue is not None:
            verify_epilogue(region, region.epilogue)
            RoleVerifier(self.scope, region, region.epilogue, SizeFacts(region.guards)).verify_values()
        for guard in region.guards:
            assert can_hold(guard), f"{describe(region)}: the guard {guard} never holds"
        self.verify_requirements(region)
        for body in subgraphs_of(region.config):
            self.verify_subgraph(region, body)

    def verify_requirements(self, region: Region[object]) -> None:
        """Sizes that operators require to be equal are guarded, for fallbacks as well, since inference relies on them."""
        guards = {*region.guards, *self.scope.prepared.guards}
        for node in region.nodes:
            for guard in self.scope.required_guards(node):
                assert guard in guards, f"{describe(region)} requires {guard}, which is not guarded"

    def is_read_outside(self, value: Value, region: Region[object]) -> bool:
        """Whether other regions or a caller need a value from this region.

        They do not if it is known without the region, or held by Python, as values of data-dependent sizes
        outside of subgraphs.
        """
        is_in_python = self.scope.binds_in_python and self.scope.data_dependent_axes(value)
        if self.is_known(value) or is_in_python:
            return False
        consumers = set(self.scope.consumers(value)) - set(region.nodes)
        is_read = any(node in self.region_of or node.graph is not self.scope.graph for node in consumers)
        return is_read or value in self.scope.outputs

    def verify_subgraph(self, region: Region[object], body: RegionGraph) -> None:
        """The regions of an inlined subgraph, and that the region reads what the subgraph captures."""
        # Lazy: few models need it.
        from sardonyx._src.compile.partition.partitioner.subgraphs import SubgraphScope

        assert isinstance(body.scope, SubgraphScope), (
            f"{describe(region)}: a subgraph must have a SubgraphScope"
        )
        read = {read.value for read in region.reads}
        for value in body.scope.variables:
            assert value in read, (
                f"{describe(region)} does not read {value.name}, which its subgraph captures"
            )
        verify_regions(body)


def values_read(region: Region[object]) -> Iterator[Value]:
    """The values that a region reads from outside."""
    if isinstance(region.config, Fallback):
        yield from (value for value in region.anchor.inputs if value is not None)
        yield from (value for graph in region.anchor.subgraphs for value in captures(graph))
    yield from (read.value for read in region.all_reads)
    yield from (alias.source for alias in region.aliases)


def verify_epilogue(region: Region[object], fused: FusedEpilogue) -> None:
    """The operands of an epilogue: a layout and a shape for each that is read, and a name for each in the expression."""
    layouts = fused.epilogue.operand_layouts
    own = len(layouts) - len(fused.reads)  # operands that an integer kernel itself has before the fused ones
    assert own >= 0, (
        f"{describe(region)}: the epilogue reads {len(fused.reads)} operands and has {len(layouts)} layouts"
    )
    assert len(fused.shapes) == len(fused.reads), (
        f"{describe(region)}: the epilogue has {len(fused.shapes)} shapes of operands"
    )
    names = {leaf.name for leaf in topological_order(fused.epilogue.expression) if isinstance(leaf, Local)}
    unknown = names - {"x", *(f"o{i}" for i in range(len(layouts)))}
    assert not unknown, f"{describe(region)}: the epilogue has no operands {sorted(unknown)}"
    assert set(fused.nodes) <= set(region.nodes), f"{describe(region)}: a fused node is not in the region"
    assert any(write.value is fused.result for write in region.writes), (
        f"{describe(region)} does not write the result of its epilogue, {fused.result.name}"
    )


def subgraphs_of(config: object) -> Iterator[RegionGraph]:
    """The inlined subgraphs in a config.  Each object is visited once, since parts of a config, as of expressions, are shared."""
    parts, seen = [config], {id(config)}
    for part in parts:
        if isinstance(part, RegionGraph):
            yield part
            continue
        names = getattr(part, "__dataclass_fields__", ())
        for child in part if isinstance(part, tuple) else [getattr(part, name) for name in names]:
            if type(child) not in PLAIN_TYPES and id(child) not in seen:
                seen.add(id(child))
                parts.append(child)
