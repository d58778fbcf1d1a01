"""The operators that patterns require beside their first: no pattern matches a model that lacks them.

A wrong entry of the table would leave a pattern untried, and nothing else would show it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import numpy as np
import pytest

import sardonyx as sx
from compile.stages import AVX2
from sardonyx._src.compile.partition.regions import registry
from sardonyx._src.compile.partition.regions.region import Region
from sardonyx._src.compile.partition.regions.registry import PATTERN_INDEX, REQUIRED_OPERATORS, Matcher
from sardonyx._src.compile.partition.regions.scope import Scope
from sardonyx._src.compile.pipeline import partition_model
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.ir.walk import nodes, roots

RNG = np.random.default_rng(0)
Layer = Callable[[sx.Builder, sx.Operand], sx.Operand]


def weights(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return RNG.standard_normal(shape).astype(np.float32)


def gradient_of(layer: Layer, *shape: int) -> sx.Model:
    """The gradient of the sum of squares of a layer by all its floats."""
    b = sx.Builder(opset=23)
    y = layer(b, b.input("x", "float32", list(shape)))
    model = b.model(z=b.ReduceSum(b.Mul(y, y), keepdims=0))
    return sx.gradient(model, of="z", wrt=["x", *model.graph.initializers])


def quantized(product: str, *shape: int) -> sx.Model:
    """A product of a dequantized input and a dequantized weight, whose result is quantized."""
    b = sx.Builder(opset=21)
    scale, zero = np.float32(0.1), np.uint8(3)
    x = b.DequantizeLinear(b.input("x", "uint8", [2, *shape]), scale, zero)
    codes = RNG.integers(-9, 9, (4, *shape) if product == "Conv" else (shape[-1], 4)).astype(np.int8)
    y = getattr(b, product)(x, b.DequantizeLinear(codes, scale, np.int8(0)))
    return b.model(y=b.QuantizeLinear(y, scale, zero))


MODELS = {
    "conv_weight_gradient": lambda: gradient_of(lambda b, x: b.Conv(x, weights(6, 4, 3, 3)), 2, 4, 9, 9),
    "grouped_weight_gradient": lambda: gradient_of(
        lambda b, x: b.Conv(x, weights(6, 2, 3, 3), group=2), 2, 4, 9, 9
    ),
    "max_pool_gradient": lambda: gradient_of(
        lambda b, x: b.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2]), 2, 4, 8, 8
    ),
    "norm_gradient": lambda: gradient_of(
        lambda b, x: b.LayerNormalization(x, weights(16), weights(16)), 3, 16
    ),
    "quantized_convolution": lambda: quantized("Conv", 4, 3, 3),
    "quantized_product": lambda: quantized("MatMul", 8),
    "softmax_gradient": lambda: gradient_of(lambda b, x: b.Softmax(x), 3, 16),
}


@pytest.fixture
def matched(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The modules of patterns that returned a region; all patterns are tried."""
    PATTERN_INDEX.import_all()
    modules: set[str] = set()

    def recorded(matcher: Matcher) -> Matcher:
        @wraps(matcher)
        def match(op: BoundNode, scope: Scope) -> Region[object] | None:
            region = matcher(op, scope)
            if region is not None:
                modules.add(matcher.__module__.rpartition(".")[2])
            return region

        return match

    patterns = {key: [*map(recorded, matchers)] for key, matchers in registry.PATTERNS.items()}
    monkeypatch.setattr(registry, "PATTERNS", patterns)
    return modules


def test_the_models_are_those_of_the_table() -> None:
    assert MODELS.keys() == REQUIRED_OPERATORS.keys()


@pytest.mark.parametrize("module", MODELS)
def test_a_pattern_matches_where_the_required_operator_is(module: str, matched: set[str]) -> None:
    regions = partition_model(MODELS[module](), AVX2)
    model = regions.scope.prepared.model
    operators = {node.op_type for root in roots(model) for node in nodes(root)}
    assert module in matched
    for name in matched & REQUIRED_OPERATORS.keys():
        assert REQUIRED_OPERATORS[name] in operators, name
