"""The runner of the onnx wheel, `onnx.backend.test.BackendTest`, on `sardonyx.backend`."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Sequence

from onnx.backend.test.runner import Runner

from conformance.official import assert_close, datum
from sardonyx._src.io.loading.load import ModelSource
from sardonyx._src.ops.registry import find
from sardonyx._src.runtime.session.session import Engine
from sardonyx.backend import Backend, BackendRep, Outputs

# The body of Bernoulli in the wheel, Greater(RandomUniformLike(x), x), is 1 with the probability 1 - x, and the expected
# values are those of Bernoulli, drawn with the probability x: numbers of [0, 1) yield them in 5 of a million draws.
EXPECTED_FAILURES = (
    "test_bernoulli_expanded",
    "test_bernoulli_double_expanded",
    "test_bernoulli_seed_expanded",
)
NETWORK = 20  # nodes of a model above which it counts as a network
SEED = 0  # of the official cases, which draw what has no seed from one state with what has one


class RepeatedRep(BackendRep):
    """A prepared model of which every run is repeated: later runs take the fast path of the native engine.

    Networks are not repeated on the reference engine: their kernels are those of the cases with few nodes.
    """

    def run(self, inputs: object, **kwargs: object) -> Outputs:
        outputs = super().run(inputs, **kwargs)
        operators = [find(node.domain, node.op_type) for node in self.session.model.graph.nodes]
        if self.session.engine == "reference" and len(operators) > NETWORK:
            return outputs
        if not any(op is not None and op.is_random for op in operators):
            for i, again in enumerate(super().run(inputs, **kwargs)):
                assert_close(again, outputs[i], 0, 0, f"output {i} of the second run")
        return outputs


class OfficialBackend(Backend):
    """A backend that runs every model, so that the runner skips none."""

    @classmethod
    def is_compatible(cls, model: ModelSource, device: str = "CPU", **kwargs: object) -> bool:
        return True

    @classmethod
    def prepare(cls, model: ModelSource, device: str = "CPU", **kwargs: object) -> BackendRep:
        return RepeatedRep(super().prepare(model, device, seed=SEED, **kwargs).session)


class StrictRunner(Runner):  # type: ignore[misc]  # the wheel is not typed
    """The runner, which also asserts what its own comparison of sequences leaves out: their lengths and kinds."""

    @classmethod
    def assert_similar_outputs(
        cls,
        ref_outputs: Sequence[object],
        outputs: Sequence[object],
        rtol: float,
        atol: float,
        model_dir: str | None = None,
    ) -> None:
        """Gives tensors of sequences to the runner's comparison as outputs: it cannot compare scalars in lists."""
        assert_close(list(outputs), [datum(value) for value in ref_outputs], rtol, atol, "outputs")
        super().assert_similar_outputs(flatten(ref_outputs), flatten(outputs), rtol, atol, model_dir)


def flatten(values: Sequence[object]) -> list[object]:
    """The tensors of all outputs; an empty optional has none."""
    result: list[object] = []
    for value in values:
        if isinstance(value, list | tuple):
            result += flatten(value)
        elif value is not None:
            result.append(value)
    return result


def runner_classes(engine: Engine, module: str) -> dict[str, type[unittest.TestCase]]:
    """The test classes of the runner on an engine, without the tests of devices that do not exist here."""
    backend = type("EngineBackend", (OfficialBackend,), {"engine": engine})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the suite computes its cases with overflows and divisions by zero
        runner = StrictRunner(backend, module)
    for name in EXPECTED_FAILURES:
        runner.xfail(f"^{name}_cpu$")
    classes: dict[str, type[unittest.TestCase]] = runner.test_cases
    for case in classes.values():
        for name in [name for name in vars(case) if name.endswith("_cuda")]:
            delattr(case, name)
    return classes


def count_tests(classes: dict[str, type[unittest.TestCase]]) -> dict[str, int]:
    """The number of tests of each class that has any."""
    counts = {name: sum(key.startswith("test_") for key in vars(case)) for name, case in classes.items()}
    return {name: count for name, count in counts.items() if count}
