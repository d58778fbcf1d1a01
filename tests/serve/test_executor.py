"""Executors of real sessions: batches equal single requests, and sequences keep their states."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array
from sardonyx._src.serve.models import executor
from sardonyx._src.serve.models.model_config import ModelConfig, parse_config
from sardonyx._src.serve.models.served_model import ServedModel
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.requests import InferenceRequest, Parameter
from serve.running import wait_until

T = TypeVar("T")
MLP = """g (float[N,64] x) => (float[N,10] y) { h = MatMul(x, w) r = Relu(h) z = MatMul(r, v) y = Softmax(z) }"""
IMAGES = """g (float[N,3,8,8] x) => (float[N,4,8,8] y) { c = Conv<pads=[1,1,1,1]>(x, w) y = Relu(c) }"""
MIXING = """g (float[N,4] x) => (float[N,4] y) <int64[1] a = {0}> { m = ReduceSum(x, a) y = Sub(x, m) }"""
COUNTER = """g (float[N,2] x, float[N,2] total) => (float[N,2] y, float[N,2] next) {
    next = Add(x, total) y = Mul(next, next) }"""
CACHE = """g (float[1,2] x, float[1,past,2] cache) => (int64[3] y, float[1,length,2] grown) <int64[1] a = {1}> {
    u = Unsqueeze(x, a) grown = Concat<axis=1>(cache, u) y = Shape(grown) }"""


def model_of(text: str, weights: Mapping[str, Array] | None = None) -> sx.ir.Model:
    """The model of a text, with float initializers."""
    if not weights:
        return parse_model(text)
    return parse_model(text.replace(") {", f") <{', '.join(map(declare, weights, weights.values()))}> {{", 1))


def declare(name: str, array: Array) -> str:
    numbers = ",".join(map(repr, array.ravel().tolist()))
    return f"float[{','.join(map(str, array.shape))}] {name} = {{{numbers}}}"


def serve(
    model: sx.ir.Model, config: ModelConfig, scenario: Callable[[ServedModel], Coroutine[None, None, T]]
) -> T:
    """The result of a scenario with a served model."""

    async def run() -> T:
        served = ServedModel("m", "1", sx.Session(model), config)
        try:
            return await scenario(served)
        finally:
            served.retire()

    return asyncio.run(run())


async def infer(served: ServedModel, feeds: Mapping[str, Array], **parameters: Parameter) -> dict[str, Array]:
    response = await served.infer(InferenceRequest("m", dict(feeds), parameters=parameters))
    return dict(response.outputs)


def run_in_batches(model: sx.ir.Model, inputs: list[Array]) -> tuple[list[Array], list[Array], list[int]]:
    """The results of requests at the same time and one after the other, and the counts of batch sizes."""

    async def scenario(served: ServedModel) -> list[Array]:
        results = await asyncio.gather(*(infer(served, {"x": x}) for x in inputs))
        counts.extend(served.statistics.batch_rows.counts)
        return [result["y"] for result in results]

    counts: list[int] = []
    config = parse_config({"scheduling": {"max_batch": 8, "batch_delay": 0.2}}, ModelConfig())
    joined = serve(model, config, scenario)
    session = sx.Session(model)
    return joined, [session.run({"x": x})["y"] for x in inputs], counts


@pytest.mark.native
def test_batched_products_equal_single_ones_within_rounding() -> None:
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.normal(size=(64, 32)).astype(np.float32),
        "v": rng.normal(size=(32, 10)).astype(np.float32),
    }
    inputs = [rng.normal(size=(1 + i % 2, 64)).astype(np.float32) for i in range(5)]
    joined, single, counts = run_in_batches(model_of(MLP, weights), inputs)
    assert counts[3] == 1, "one batch of seven rows"
    for a, b in zip(joined, single, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


@pytest.mark.native
def test_batched_convolutions_equal_single_ones_to_the_bit() -> None:
    rng = np.random.default_rng(1)
    weights = {"w": rng.normal(size=(4, 3, 3, 3)).astype(np.float32)}
    inputs = [rng.normal(size=(1, 3, 8, 8)).astype(np.float32) for _ in range(4)]
    joined, single, counts = run_in_batches(model_of(IMAGES, weights), inputs)
    assert counts[2] == 1, "one batch of four rows"
    for a, b in zip(joined, single, strict=True):
        assert a.tobytes() == b.tobytes()


def test_models_that_mix_rows_are_not_batched_unless_they_are_said_to_be_safe() -> None:
    x = [np.full((1, 4), i, np.float32) for i in range(4)]
    joined, _, counts = run_in_batches(model_of(MIXING), x)
    assert counts[0] == 4
    assert all((y == 0).all() for y in joined)


def counter_config(**options: object) -> ModelConfig:
    return parse_config({"sequences": {"states": {"total": "next"}, **options}}, ModelConfig())


def one_row(value: float) -> dict[str, Array]:
    return {"x": np.full((1, 2), value, np.float32)}


def test_sequences_keep_their_states_apart() -> None:
    async def scenario(served: ServedModel) -> None:
        for begin in (True, False, False):
            requests = [infer(served, one_row(i), sequence_id=i, sequence_start=begin) for i in range(1, 5)]
            results = await asyncio.gather(*requests)
        assert [r["next"][0, 0] for r in results] == [3, 6, 9, 12]
        last = await infer(served, one_row(1), sequence_id="1", sequence_start=True, sequence_end=True)
        assert last["next"][0, 0] == 1, "the text is another sequence than the number"
        with pytest.raises(RequestFailure, match="has not begun"):
            await infer(served, one_row(1), sequence_id="1")
        again = await infer(served, one_row(1), sequence_id=1, sequence_start=True)
        assert again["next"][0, 0] == 1

    serve(model_of(COUNTER), counter_config(), scenario)


def test_requests_of_a_sequence_run_in_order() -> None:
    async def scenario(served: ServedModel) -> list[float]:
        tasks = [
            infer(served, one_row(1), sequence_id=7, sequence_start=i == 0, sequence_end=i == 9)
            for i in range(10)
        ]
        return [float(r["next"][0, 0]) for r in await asyncio.gather(*tasks)]

    config = parse_config(
        {"sequences": {"states": {"total": "next"}}, "scheduling": {"workers": 4}}, ModelConfig()
    )
    assert serve(model_of(COUNTER), config, scenario) == list(range(1, 11))


def test_request_without_a_sequence_feeds_the_states_itself() -> None:
    async def scenario(served: ServedModel) -> None:
        total = {"total": np.full((1, 2), 5, np.float32)}
        assert (await infer(served, one_row(1) | total))["next"][0, 0] == 6
        with pytest.raises(RequestFailure, match="must not be fed"):
            await infer(served, one_row(1) | total, sequence_id=1, sequence_start=True)

    serve(model_of(COUNTER), counter_config(), scenario)


def test_request_that_fails_leaves_the_states_as_they_were() -> None:
    async def scenario(served: ServedModel) -> None:
        await infer(served, one_row(1), sequence_id=1, sequence_start=True)
        with pytest.raises(RequestFailure):
            await infer(served, {"x": np.ones((3, 3, 3), np.float32)}, sequence_id=1)
        assert (await infer(served, one_row(1), sequence_id=1))["next"][0, 0] == 2

    serve(model_of(COUNTER), counter_config(), scenario)


def test_sequences_are_bounded_and_expire() -> None:
    async def scenario(served: ServedModel) -> None:
        for i in (1, 2):
            await infer(served, one_row(1), sequence_id=i, sequence_start=True)
        with pytest.raises(RequestFailure) as refusal:
            await infer(served, one_row(1), sequence_id=3, sequence_start=True)
        assert refusal.value.kind is FailureKind.BUSY
        assert refusal.value.retry_after is not None
        await asyncio.sleep(0.15)
        await infer(served, one_row(1), sequence_id=3, sequence_start=True)
        with pytest.raises(RequestFailure, match="has ended"):
            await infer(served, one_row(1), sequence_id=1)

    serve(model_of(COUNTER), counter_config(max_sequences=2, idle_seconds=0.1), scenario)


def test_cache_grows_from_an_empty_one_or_one_of_a_given_length() -> None:
    async def scenario(served: ServedModel) -> list[list[int]]:
        x = {"x": np.ones((1, 2), np.float32)}
        shapes = [await infer(served, x, sequence_id=1, sequence_start=i == 0) for i in range(3)]
        return [shape["y"].tolist() for shape in shapes]

    def config(**options: object) -> ModelConfig:
        return parse_config({"sequences": {"states": {"cache": "grown"}, **options}}, ModelConfig())

    assert serve(model_of(CACHE), config(), scenario) == [[1, 1, 2], [1, 2, 2], [1, 3, 2]]
    assert serve(model_of(CACHE), config(sizes={"past": 4}), scenario) == [[1, 5, 2], [1, 6, 2], [1, 7, 2]]


def test_runs_leave_the_event_loop_after_three_slow_ones_in_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(served: ServedModel) -> list[bool]:
        request = InferenceRequest("m", {"x": np.zeros(2, np.float32)})
        are_inline: list[bool] = []
        for is_quick in (True, True, False, False, True, False, False, False, True):
            monkeypatch.setattr(executor, "QUICK_SECONDS", 1e9 if is_quick else -1.0)
            monkeypatch.setattr(executor, "SLOW_SECONDS", -1.0)
            if not are_inline:
                served.executor.warm_up(request.inputs)
            are_inline.append(served.executor.try_execute(request) is not None)
        return are_inline

    model = model_of("g (float[N] x) => (float[N] y) { y = Neg(x) }")
    assert serve(model, ModelConfig(), scenario) == [True] * 8 + [False]


def test_other_sizes_of_as_many_bytes_are_not_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "QUICK_SECONDS", 60)

    async def scenario(served: ServedModel) -> list[bool]:
        served.executor.warm_up({"x": np.ones((2, 8), np.float32)})
        shapes = [(2, 8), (8, 2), (1, 16), (2, 8)]
        requests = [InferenceRequest("m", {"x": np.ones(shape, np.float32)}) for shape in shapes]
        return [served.executor.try_execute(request) is not None for request in requests]

    outer = parse_model("g (float[N,M] x) => (float[N,N] y) { t = Transpose(x) y = MatMul(x, t) }")
    assert serve(outer, ModelConfig(), scenario) == [True, False, False, True]


def test_longer_strings_are_not_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "QUICK_SECONDS", 60)

    async def scenario(served: ServedModel) -> list[bool]:
        served.executor.warm_up({"x": np.array(["1234"], object)})
        requests = [InferenceRequest("m", {"x": np.array(["1" * count], object)}) for count in (4, 7, 8, 3)]
        return [served.executor.try_execute(request) is not None for request in requests]

    model = parse_model("g (string[N] x) => (string[N] y) { y = Identity(x) }")
    assert serve(model, ModelConfig(), scenario) == [True, True, False, False]


def test_results_are_freed_with_their_response() -> None:
    async def scenario(served: ServedModel) -> None:
        response = await served.infer(InferenceRequest("m", {"x": np.ones((1, 4), np.float32)}))
        result = weakref.ref(response.outputs["y"])
        del response
        await wait_until(lambda: result() is None)  # the worker lets go of it in its own time

    gc.disable()
    try:
        serve(model_of(MIXING), ModelConfig(), scenario)
    finally:
        gc.enable()


def test_states_must_be_inputs_and_outputs() -> None:
    with pytest.raises(InputError, match="must map inputs to outputs"):
        ServedModel(
            "m",
            "1",
            sx.Session(model_of(COUNTER)),
            parse_config({"sequences": {"states": {"total": "nothing"}}}, ModelConfig()),
        )


def test_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="scheduling has no setting 'worker'; did you mean 'workers'"):
        parse_config({"scheduling": {"worker": 2}}, ModelConfig())


def test_quick_requests_run_while_a_worker_does_but_not_before_those_that_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executor, "QUICK_SECONDS", 60)
    quick = InferenceRequest("m", {"x": np.ones((1, 4), np.float32)})
    release = threading.Event()

    async def scenario(served: ServedModel) -> None:
        run = served.executor.scheduler._run
        monkeypatch.setattr(served.executor.scheduler, "_run", lambda *args: release.wait(30) and run(*args))
        assert served.try_infer(quick) is None, "nothing is known of it yet"
        served.executor.warm_up(quick.inputs)
        first = asyncio.create_task(served.infer(quick))
        await asyncio.sleep(0)
        assert not served.executor.scheduler.is_idle
        response = served.try_infer(quick)
        assert response is not None and (response.outputs["y"] == 0).all()
        second = asyncio.create_task(served.infer(quick))
        await asyncio.sleep(0)
        assert served.try_infer(quick) is None, "one waits"
        release.set()
        for task in (first, second):
            assert ((await task).outputs["y"] == 0).all()
        assert served.try_infer(quick) is not None

    serve(model_of(MIXING), ModelConfig(), scenario)
