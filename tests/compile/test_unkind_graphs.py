"""Random graphs whose sizes are not kind, and their gradients: the native engine agrees with the reference engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

import sardonyx as sx
from compile import reference_agreement, unkind_agreement
from compile.kernel_objects import quick_kernels
from compile.unkind_agreement import Runs, find_disagreement, find_stray_access
from compile.unkind_gradients import gradient_sample, with_gradients
from compile.unkind_models import sample
from sampling import seed_range
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.errors import DifferentiationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Expr

GRAPHS, GRADIENTS, GROUP = 80, 20, 20

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _quick_kernels() -> Iterator[None]:
    with quick_kernels():
        yield


@pytest.mark.parametrize("seed", [19, 39831])
def test_graphs_that_failed_agree(seed: int) -> None:
    """Guards that fail in the middle of a run that calls reference kernels; strides that some runs repeat."""
    assert find_disagreement(Runs.of(sample(seed)), (1, 2)) is None


@pytest.mark.parametrize("first", seed_range(0, GRAPHS, GROUP))
def test_engines_agree_in_sizes_forwards_and_backwards(first: int) -> None:
    for seed in range(first, first + GROUP):
        disagreement = find_disagreement(Runs.of(sample(seed)), (1, 2) if seed % 3 == 0 else (1,))
        assert disagreement is None, f"seed {seed}: {disagreement}"


@pytest.mark.parametrize("first", seed_range(0, GRADIENTS, GROUP))
def test_gradients_agree(first: int) -> None:
    for seed in range(first, first + GROUP):
        try:
            runs = with_gradients(Runs.of(gradient_sample(seed)))
        except DifferentiationError:
            continue
        disagreement = find_disagreement(runs, (1,))
        assert disagreement is None, f"seed {seed}: {disagreement}"


@pytest.mark.parametrize("first", seed_range(0, GROUP, GROUP))
def test_accesses_stay_between_guard_pages(first: int) -> None:
    for seed in range(first, first + GROUP):
        runs = Runs.of(sample(seed))
        disagreement = find_stray_access(runs, seed % len(runs.feeds), at_end=seed % 2 == 0)
        assert disagreement is None, f"seed {seed}: {disagreement}"


def test_sizes_are_bound_in_several_stages() -> None:
    programs = [compile_model(sample(seed).model, host_target()).program for seed in range(GROUP)]
    assert max(len(program.bindings) for program in programs) >= 3


def test_what_is_constant_in_some_graphs_is_fed_in_others() -> None:
    """Biases of products, conditions and masks, with a symbol where feeds may have another size."""
    operands = [
        node.inputs[2]
        for seed in range(3 * GROUP)
        for node in sample(seed).model.graph.nodes
        if node.op_type in ("Conv", "Gemm") and len(node.inputs) > 2
    ]
    constants = [value for value in operands if value is not None and value.initializer is not None]
    shapes = [value.type.shape for value in operands if isinstance(value.type, TensorType)]  # type: ignore[union-attr]
    assert 0 < len(constants) < len(operands)
    assert any(isinstance(dim, Expr) for shape in shapes for dim in shape or ())


def test_a_wrong_result_is_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the native engine, in the second run."""
    runs, count = Runs.of(sample(0)), iter(range(100))
    results = reference_agreement.results

    def change_second(session: sx.Session, feeds: Mapping[str, Array]) -> dict[str, Array]:
        outputs = results(session, feeds)
        is_second = session.engine == "native" and next(count) == 1
        return {name: array + 1 if is_second else array for name, array in outputs.items()}

    assert find_disagreement(runs, (1,)) is None
    monkeypatch.setattr(unkind_agreement, "results", change_second)
    disagreement = find_disagreement(runs, (1,))
    assert disagreement is not None and disagreement.kind == "elements"
    assert disagreement.detail.startswith("1 threads, feeds 1:")
