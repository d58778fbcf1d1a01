"""Partition: which nodes become one region, and which regions are deferred."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from compile.stages import regions_of, stages_of
from sardonyx._src.compile.codegen.canonical_text import canonical_text
from sardonyx._src.compile.lower import LaidOutRegion
from sardonyx._src.compile.lower.operators.elementwise import Elementwise
from sardonyx._src.compile.partition import BoundNode, Read, Region, Scope, Write
from sardonyx._src.compile.partition.fusion.fusion import MAX_RESULTS
from sardonyx._src.compile.partition.fusion.group_builder import MAX_FUSED_NODES, MAX_OPERANDS
from sardonyx._src.compile.partition.regions import registry
from sardonyx._src.schema import versions


def nodes_of(regions: Sequence[Region[object]]) -> list[tuple[str, ...]]:
    return [region.node_names for region in regions]


def expression_of(region: Region[object]) -> str:
    assert isinstance(region.config, Elementwise)
    return canonical_text(region.config.expressions)


# --- fusion groups ---------------------------------------------------------------------------


def test_a_group_has_a_limited_number_of_nodes() -> None:
    length = MAX_FUSED_NODES + 6
    chain = "  ".join(f"t{i + 1} = Sin (t{i})" for i in range(length))
    first, second = regions_of(f"g (float[4] t0) => (float[4] t{length}) {{ {chain} }}")
    assert [len(first.nodes), len(second.nodes)] == [MAX_FUSED_NODES, 6]


def test_a_group_has_a_limited_number_of_operands() -> None:
    inputs = ", ".join(f"float[4] x{i}" for i in range(MAX_OPERANDS + 3))
    chain = "  ".join(
        f"t{i} = Add ({f't{i - 1}' if i > 1 else 'x0'}, x{i})" for i in range(1, MAX_OPERANDS + 3)
    )
    first, second = regions_of(f"g ({inputs}) => (float[4] t{MAX_OPERANDS + 2}) {{ {chain} }}")
    assert [read.value.name for read in first.reads] == [f"x{i}" for i in range(MAX_OPERANDS)]
    assert len(second.reads) == 4


def test_branches_that_join_again_are_one_group() -> None:
    (region,) = regions_of(
        "g (float[4] x) => (float[4] y) { a = Sin (x)  b = Cos (a)  c = Exp (a)  y = Add (b, c) }"
    )
    assert len(region.nodes) == 4
    assert [read.value.name for read in region.reads] == ["x"]


@pytest.mark.parametrize(
    "text",
    [
        "g (float[4] x) => (float[4] a, float[4] y) { a = Sin (x)  y = Cos (a) }",  # an output
        "g (float[4] x) => (float[4] y, float[4] z) { a = Sin (x)  y = Cos (a)  z = CumSum (a, w) }",
        "g (float[4] x) => (float[4] y, float[4] z) { a = Sin (x)  y = Cos (a)  z = Det (a) }",  # a fallback
    ],
)
def test_values_that_escape_are_results(text: str) -> None:
    region = regions_of(text.replace("(float[4] x)", "(float[4] x, int64 w)"))[0]
    assert region.node_names == ("a", "y")
    assert [write.value.name for write in region.writes] == ["a", "y"]


def test_a_group_has_a_limited_number_of_results() -> None:
    count = MAX_RESULTS + 2
    results = ", ".join(f"float[4] t{i + 1}" for i in range(count))
    chain = "  ".join(f"t{i + 1} = Sin (t{i})" for i in range(count))
    first, second = regions_of(f"g (float[4] t0) => ({results}) {{ {chain} }}")
    assert [len(first.writes), len(second.writes)] == [MAX_RESULTS, 2]


def test_a_group_absorbs_what_computes_its_operands() -> None:
    (region,) = regions_of("""g (float[4] a, float[4] b, float[4] c, float[4] d) => (float[4] y) {
      m = Mul (a, b)  n = Mul (c, d)  s = Sqrt (n)  y = Add (m, s) }""")
    assert region.node_names == ("m", "n", "s", "y")
    assert [write.value.name for write in region.writes] == ["y"]


def test_a_group_reads_only_what_is_computed_before_its_first_node() -> None:
    regions = regions_of("""g (float[4,4] a, float[4,4] w) => (float[4,4] y) {
      m = Sin (a)  p = MatMul (a, w)  q = Transpose (p)  n = Cos (q)  y = Add (m, n) }""")
    assert nodes_of(regions)[0] == ("m",)
    assert nodes_of(regions)[-1] == ("n", "y")


def test_a_group_of_broadcast_operands_keeps_the_dims_of_its_result() -> None:
    regions = regions_of(
        "g (float[4] x, float[3,4] m) => (float[3,4] y) { a = Sin (x)  b = Add (a, m)  y = Exp (b) }"
    )
    assert nodes_of(regions) == [("a",), ("b", "y")]
    config = regions[1].config
    assert isinstance(config, Elementwise)
    assert config.operand_shapes == ((3, 4), (1, 4)) or config.operand_shapes == ((1, 4), (3, 4))


def test_a_half_precision_chain_rounds_after_every_operator() -> None:
    text = "g (float16[4] x) => (float16[4] y) { a = Add (x, x)  b = Mul (a, x)  y = Sub (b, x) }"
    (region,) = regions_of(text)
    assert expression_of(region).count("=float16(") == 3


def test_an_epilogue_rounds_to_half_precision_between_operators() -> None:
    text = "g (float16[2,8] x, float16[8,4] w) => (float16[2,4] y) { a = MatMul (x, w)  b = Relu (a)  y = Mul (b, b) }"
    product, rounding = regions_of(text)
    assert product.epilogue is not None
    assert canonical_text([product.epilogue.epilogue.expression]).count("=float16(") == 1  # ReLU is exact
    assert expression_of(rounding) == "0=float16(i0);0"


def test_values_computed_from_sizes_belong_to_no_region() -> None:
    text = """g (float[N,4] x) => (float[4,N] y) {
      s = Shape (x)  i = Constant <value_ints = [1, 0]> ()  t = Gather (s, i)  y = Reshape (x, t) }"""
    assert [region.kind for region in regions_of(text)] == ["View"]


# --- deferred regions ------------------------------------------------------------------------

SCALED = "s = Constant <value = float {0.5}> ()  z = Constant <value = uint8 {3}> ()  d = DequantizeLinear (x, s, z)"


def test_a_dequantized_value_is_computed_inside_its_consumers() -> None:
    text = f"g (uint8[4] x) => (float[4] y) {{ {SCALED}  y = Relu (d) }}"
    stages = stages_of(text)
    (region,) = stages.regions.regions
    assert region.node_names == ("y",)
    assert "x" in {read.value.name for read in region.reads}
    assert [deferred.node_names for deferred in stages.regions.scope.deferred.values()] == [("d",)]
    assert len(stages.laid_out.items) == 1  # the deferred region is not executed


def test_a_dequantized_value_that_is_an_output_is_computed_on_its_own() -> None:
    stages = stages_of(f"g (uint8[4] x) => (float[4] d, float[4] y) {{ {SCALED}  y = Sin (d) }}")
    executed = [item.region.node_names for item in stages.laid_out.items if isinstance(item, LaidOutRegion)]
    assert executed == [("y",), ("d",)]


def test_a_promoted_operand_is_converted_once_for_several_kernels() -> None:
    text = """g (float16[2,8] x, float16[8,4] w1, float16[8,4] w2) => (float16[2,4] y, float16[2,4] z) {
      y = MatMul (x, w1)  z = MatMul (x, w2) }"""
    stages = stages_of(text)
    deferred = [
        region for region in stages.regions.scope.deferred.values() if region.node_names == ("x/wide",)
    ]
    assert len(deferred) == 1
    assert stages.kinds.count("MatMul") == 2
    assert [step.nodes for step in stages.program.steps].count(("x/wide",)) == 1


# --- patterns --------------------------------------------------------------------------------

ATTENTION = """g (float[1,4,4] q, float[1,4,4] k, float[1,4,4] v, float[4,4] m, float[4] e) => (float[1,4,4] y, float[4] z) {
  s = MatMul (q, k)  z = Sin (e)  n = Cos (m)  a = Add (s, n)  p = Softmax (a)  u = Exp (v)  y = MatMul (p, u) }"""


def test_a_pattern_is_executed_in_place_of_its_last_node() -> None:
    regions = regions_of(ATTENTION)
    assert nodes_of(regions) == [("z",), ("n",), ("u",), ("s", "a", "p", "y")]
    attention = regions[-1]
    assert (attention.kind, attention.anchor.op_type) == ("SoftmaxAttention", "MatMul")
    assert attention.last is attention.nodes[-1]


def test_values_inside_a_pattern_are_not_read_elsewhere() -> None:
    regions = regions_of(ATTENTION.replace("float[4] z)", "float[4] z, float[1,4,4] p)"))
    assert "SoftmaxAttention" not in [region.kind for region in regions]


# --- the registry ----------------------------------------------------------------------------

SOFTMAX = "", "Softmax", versions("", "Softmax")[-1]
SOFTMAX_TEXT = "g (float[4] x) => (float[4] y) { a = Softmax (x)  y = Relu (a) }"


def match_two_nodes(op: BoundNode, scope: Scope) -> Region[None] | None:
    """A pattern of a node and its consumer."""
    consumer, x = scope.sole_consumer(op.output), op.input(0)
    if consumer is None or x is None:
        return None
    return Region("TwoNodes", (op.node, consumer), None, (Read(x),), (Write(consumer.outputs[0]),))


def test_patterns_are_tried_before_the_matcher_of_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.PATTERNS, SOFTMAX, [lambda op, scope: None, match_two_nodes])
    assert [(region.kind, region.node_names) for region in regions_of(SOFTMAX_TEXT)] == [
        ("TwoNodes", ("a", "y"))
    ]


def test_the_first_region_that_a_pattern_returns_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(op: BoundNode, scope: Scope) -> None:
        raise AssertionError("a later pattern must not be tried")

    monkeypatch.setitem(registry.PATTERNS, SOFTMAX, [match_two_nodes, fail])
    assert len(regions_of(SOFTMAX_TEXT)) == 1


def test_a_matcher_that_a_user_replaces_is_used_and_changes_the_key_of_programs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    regions_of(SOFTMAX_TEXT)  # imports the matcher of the project
    assert SOFTMAX not in registry.user_matchers()
    monkeypatch.setitem(registry.MATCHERS, SOFTMAX, match_two_nodes)
    assert [region.kind for region in regions_of(SOFTMAX_TEXT)] == ["TwoNodes"]
    assert registry.user_matchers()[registry.user_matchers().index(SOFTMAX) + 1] is match_two_nodes
    monkeypatch.delitem(registry.MATCHERS, SOFTMAX)
    assert [region.kind for region in regions_of(SOFTMAX_TEXT)] == ["Fallback", "Elementwise"]
    assert SOFTMAX in registry.user_matchers()


REMOVE = """
from sardonyx._src.compile.lower.registry import lowering_of
from sardonyx._src.compile.partition.regions import registry
lowering_of("Softmax")
key = next(key for key in registry.MATCHERS if key[1] == "Softmax")
assert registry.user_matchers() == ()
del registry.MATCHERS[key]
print(registry.user_matchers() == (key,))
"""


def test_a_matcher_that_a_user_removes_changes_the_key_whatever_imported_it() -> None:
    """In a new process, where a lowering is looked up first."""
    done = subprocess.run([sys.executable, "-c", REMOVE], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_an_operator_has_one_matcher() -> None:
    regions_of(SOFTMAX_TEXT)
    with pytest.raises(AssertionError, match="Softmax-13 has two matchers"):
        registry.matches("Softmax", SOFTMAX[-1])(match_two_nodes)


def test_an_operator_without_a_matcher_is_a_fallback() -> None:
    (region,) = regions_of("g (float[3,3] x) => (float[3,3] y) { y = Bernoulli (x) }")
    assert region.kind == "Fallback"
    assert not registry.is_supported("", "Bernoulli", versions("", "Bernoulli")[-1])
