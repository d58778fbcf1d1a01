"""Requests in company have the tokens that they have alone; rows join, leave and fail without touching the others."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from generate.attention_decoders import grouped_decoder, masked_decoder
from generate.decoders import chain_decoder, recurrent_decoder, summing_decoder, window_decoder
from sardonyx._src.generate.batching.stats import BatchingStats
from sardonyx._src.ir import Array
from sardonyx.generate import BatchingGenerator, Generator, Piece

MODELS = [
    masked_decoder,
    grouped_decoder,
    summing_decoder,
    recurrent_decoder,
    chain_decoder,
    partial(window_decoder, 2),
]
PROMPTS = [[1, 5], [3, 0, 2, 6, 1, 1, 4], [2, 2, 2], [6, 0], [4] * 11, [5, 1, 3]]
TIMEOUT = 60.0  # of waits that end at once


class Gate:
    """Holds runs of a generator's session, and records their tokens [rows, length]."""

    def __init__(self, generator: Generator, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened, self.is_holding = threading.Event(), threading.Event()
        self.opened.set()
        self.left: int | None = None
        self.shapes: list[tuple[int, ...]] = []
        self.error: BaseException | None = None
        run, tokens = generator.session.run, generator.decoder.roles.names["tokens"]

        def held(feeds: dict[str, Array], **options: Any) -> Any:
            self.pass_through()
            self.shapes.append(feeds[tokens].shape)
            if self.error is not None:
                raise self.error
            return run(feeds, **options)

        monkeypatch.setattr(generator.session, "run", held)

    def pass_through(self) -> None:
        if self.left == 0:
            self.opened.clear()
            self.is_holding.set()
            assert self.opened.wait(TIMEOUT)
        elif self.left is not None:
            self.left -= 1

    def hold_after(self, runs: int) -> None:
        """Lets a number of runs pass, then holds the next one."""
        self.is_holding.clear()
        self.left = runs
        self.opened.set()

    def wait(self) -> None:
        """Waits until a run is held."""
        assert self.is_holding.wait(TIMEOUT)

    def open(self) -> None:
        self.left = None
        self.opened.set()


def settings_of(number: int) -> dict[str, Any]:
    """Greedy and drawn results of several lengths and numbers."""
    return {"max_tokens": 5 + 4 * number, "temperature": number % 2, "seed": number, "n": 1 + number % 3}


def in_threads(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    results: list[Any] = [None] * len(calls)

    def call(number: int) -> None:
        results[number] = calls[number]()

    threads = [threading.Thread(target=call, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    return results


@pytest.mark.parametrize("model", MODELS)
def test_tokens_in_company_are_those_alone(
    model: Callable[[], sx.Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = Generator(model(), end_tokens=[0])
    alone = [generator.generate(p, **settings_of(i)) for i, p in enumerate(PROMPTS)]
    gate = Gate(generator, monkeypatch)
    with BatchingGenerator(generator, max_rows=6, chunk=3) as batching:
        gate.shapes.clear()
        calls = [partial(batching.generate, p, **settings_of(i)) for i, p in enumerate(PROMPTS)]
        assert in_threads(calls) == alone
        stats = batching.stats
    assert max(rows for rows, _ in gate.shapes) > 1
    assert (stats.finished, stats.waiting, stats.rows, stats.cache_bytes) == (6, 0, 0, 0)
    assert stats.prompt_tokens == sum(map(len, PROMPTS)) and stats.tokens >= sum(
        len(result.tokens) for generation in alone for result in generation.results
    )


REPEATING = [[1, 5, 2, 1, 5, 2, 1], [3, 0, 3, 0, 3], [4] * 6, [6, 2, 6, 2, 6, 2, 6]]


@pytest.mark.parametrize("model", [masked_decoder, grouped_decoder, summing_decoder, chain_decoder])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_drafts_of_rows_change_no_token(
    model: Callable[[], sx.Model], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Generator(model(), end_tokens=[])
    settings: list[dict[str, Any]] = [
        {"max_tokens": 12 + 5 * i, "temperature": i % 2, "seed": i, "repetition_penalty": 0.7}
        for i in range(4)
    ]
    calls = list(zip(REPEATING, settings, strict=True))[:count]
    alone = [plain.generate(prompt, **options) for prompt, options in calls]
    generator = Generator(model(), end_tokens=[], draft="lookup", draft_tokens=5)
    gate = Gate(generator, monkeypatch)
    with BatchingGenerator(generator, chunk=50) as batching:
        started = [partial(batching.generate, prompt, **options) for prompt, options in calls]
        assert in_threads(started) == alone
        gate.shapes.clear()
        drafted = generator.draft_stats
        assert batching.generate(REPEATING[2], max_tokens=20, temperature=0).tokens == (
            plain.generate(REPEATING[2], max_tokens=20).tokens
        )
    assert drafted.accepted > 0
    assert len(gate.shapes) < 20  # runs of several tokens
    assert max(rows * length for rows, length in gate.shapes) > 1


def test_prompts_are_read_in_chunks_between_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Generator(grouped_decoder())
    gate = Gate(generator, monkeypatch)
    read: list[int] = []
    with BatchingGenerator(generator, chunk=4) as batching:
        gate.hold_after(2)  # the prompt and a token
        first = batching.stream([1, 5], max_tokens=40)
        gate.wait()
        second = batching.stream([2] * 10, max_tokens=2, advance=read.append)
        before = len(gate.shapes)
        gate.open()
        list(second), list(first)
    assert gate.shapes[before : before + 6] == [(1, 1), (1, 4), (1, 1), (1, 4), (1, 1), (1, 2)]
    assert gate.shapes[before + 6] == (2, 1)  # both
    assert read == [4, 4, 2]


@pytest.mark.parametrize("how", ["close", "drop", "token"])
def test_cancellation_frees_rows_before_the_next_token(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Generator(grouped_decoder())
    expected = generator.generate([3, 3], max_tokens=30)
    gate, token = Gate(generator, monkeypatch), sx.CancellationToken()
    with BatchingGenerator(generator) as batching:
        gate.hold_after(0)
        leaving = batching.stream([1, 5], max_tokens=50, n=2, cancellation=token)
        staying = batching.stream([3, 3], max_tokens=30)
        gate.wait()
        gate.hold_after(4)  # two prompts, a token of the first request, and one of both
        gate.wait()
        before = len(gate.shapes)
        if how == "close":
            leaving.close()
        elif how == "drop":
            del leaving
            gc.collect()
        else:
            token.cancel()
        gate.open()
        assert [token for piece in staying for token in piece.tokens] == expected.tokens
        assert gate.shapes[before] == (3, 1) and {rows for rows, _ in gate.shapes[before + 1 :]} == {1}
        if how == "token":
            with pytest.raises(sx.CancelledError):
                list(leaving)
        assert (batching.stats.cancelled, batching.stats.finished) == (1, 1)


def test_a_prompt_that_is_read_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Generator(grouped_decoder())
    gate = Gate(generator, monkeypatch)
    with BatchingGenerator(generator, chunk=2) as batching:
        gate.hold_after(1)
        stream = batching.stream([1] * 20)
        gate.wait()
        stream.close()
        gate.open()
        assert (
            batching.generate([2, 2], max_tokens=3).tokens == generator.generate([2, 2], max_tokens=3).tokens
        )
        assert batching.stats.cancelled == 1


def test_full_limits_are_typed_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Generator(grouped_decoder())
    gate, token_bytes = Gate(generator, monkeypatch), 2 * 2 * 4 * 4
    with BatchingGenerator(
        generator, max_rows=2, max_waiting_tokens=5, max_cache_bytes=30 * token_bytes
    ) as batching:
        gate.shapes.clear()
        with pytest.raises(sx.LimitError, match="at most 2 results; got 3") as error:
            batching.stream([1], n=3)
        assert error.value.limit == "max_rows"
        with pytest.raises(
            sx.LimitError, match=f"at most {30 * token_bytes} bytes; got {31 * token_bytes}"
        ) as error:
            batching.stream([1], max_tokens=30)
        assert error.value.limit == "max_cache_bytes"
        gate.hold_after(0)
        running = batching.stream([1, 5], max_tokens=20)  # 22 of the 30 tokens of caches
        gate.wait()
        waiting = batching.stream([2, 2, 2], max_tokens=4)  # would be padded to 22
        with pytest.raises(sx.LimitError, match="at most 5 tokens together; got 6: try again later") as error:
            batching.stream([4, 4, 4], max_tokens=4)
        assert error.value.limit == "max_waiting_tokens"
        assert (batching.stats.waiting, batching.stats.waiting_tokens) == (1, 3)
        gate.open()
        assert len(list(running)) == 20 and len(list(waiting)) == 4
        assert max(rows for rows, _ in gate.shapes) == 1
        with pytest.raises(sx.InputError, match="beams must be 1 in a batch; got 2"):
            batching.generate([1], beams=2)
        with pytest.raises(sx.InputError, match="at least one token"):
            batching.stream([])
    with pytest.raises(sx.SardonyxError, match="the batch was closed"):
        batching.stream([1], max_tokens=2)


def test_limits_are_positive() -> None:
    with pytest.raises(sx.InputError, match="chunk must be"):
        BatchingGenerator(Generator(chain_decoder()), chunk=0)


def test_prompts_continue_earlier_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Generator(grouped_decoder(), prefix_bytes=1 << 20)
    plain = Generator(grouped_decoder())
    with BatchingGenerator(generator) as batching:
        first = batching.generate([1, 5, 2], max_tokens=6)
        prompt = [1, 5, 2, *first.tokens, 3]
        gate = Gate(generator, monkeypatch)
        assert batching.generate(prompt, max_tokens=6).tokens == plain.generate(prompt, max_tokens=6).tokens
        assert gate.shapes[0] == (1, 2)  # the last token of the result was not read before
        assert batching.stats.reused_tokens == 8 and batching.stats.prefix_bytes > 0


def test_a_request_that_fails_leaves_the_others() -> None:
    """The logits after the token 5 are no numbers."""
    chain = np.eye(7, k=1, dtype=np.float32)  # each token is followed by the next one
    chain[5] = np.nan
    generator = Generator(chain_decoder(chain))
    with BatchingGenerator(generator) as batching:
        failing, other = batching.stream([1], max_tokens=9), batching.stream([0], max_tokens=5)
        assert [piece.tokens for piece in other] == [(1,), (2,), (3,), (4,), (5,)]
        with pytest.raises(sx.EvaluationError, match="must be numbers; got NaN after 4 tokens"):
            list(failing)
        assert (batching.stats.failed, batching.stats.finished) == (1, 1)


def test_an_error_of_a_run_ends_the_requests_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Generator(grouped_decoder())
    gate = Gate(generator, monkeypatch)
    with BatchingGenerator(generator) as batching:
        gate.hold_after(0)
        streams = [batching.stream([number], max_tokens=50) for number in range(3)]
        gate.wait()
        gate.hold_after(6)  # three prompts, each followed by a token of the rows
        gate.wait()
        gate.error = sx.LimitError("too little memory", limit="run_bytes")
        gate.open()
        for stream in streams:
            with pytest.raises(sx.LimitError, match="too little memory"):
                list(stream)
        gate.error = None
        assert len(batching.generate([1], max_tokens=4).tokens) == 4


def test_no_request_waits_for_a_thread_that_a_panic_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    class Panic(BaseException):
        """As those of libraries in Rust, which are no Exceptions."""

    generator = Generator(grouped_decoder())
    gate = Gate(generator, monkeypatch)
    with BatchingGenerator(generator) as batching:
        gate.error = Panic("a bound")
        with pytest.raises(sx.SardonyxError, match="the batch ended: Panic"):
            batching.generate([1], max_tokens=4)
        gate.error = None
        assert len(batching.generate([1], max_tokens=4).tokens) == 4


@pytest.mark.parametrize("cancel", [False, True])
def test_closing_finishes_or_ends_requests(cancel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = Generator(grouped_decoder())
    gate, batching = Gate(generator, monkeypatch), BatchingGenerator(generator, max_rows=1)
    gate.hold_after(1)
    streams = [batching.stream([number], max_tokens=50) for number in range(2)]
    gate.wait()
    closing = threading.Thread(target=partial(batching.close, cancel=cancel))
    closing.start()
    while not batching._scheduler.is_closed:
        pass
    if cancel:
        while not all(stream.token.is_cancelled for stream in streams):
            pass
    gate.open()
    closing.join(TIMEOUT)
    for stream in streams:
        if cancel:
            with pytest.raises(sx.CancelledError):
                list(stream)
        else:
            assert list(stream)[-1].finish_reason == "length"


def test_coroutines_share_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """More streams than the threads of a loop's executor; a task that is cancelled frees its row."""
    generator = Generator(grouped_decoder())
    expected = [generator.generate([number % 7], max_tokens=12).tokens for number in range(40)]
    batching = BatchingGenerator(generator, max_rows=16)

    async def tokens_of(number: int) -> list[int]:
        stream = batching.astream([number % 7], max_tokens=12)
        return [token async for piece in stream for token in piece.tokens]

    async def leave() -> BatchingStats:
        pieces: list[Piece] = []
        gate = Gate(generator, monkeypatch)
        gate.hold_after(1)

        async def read() -> None:
            async for piece in batching.astream([1], max_tokens=50):
                pieces.append(piece)

        task = asyncio.create_task(read())
        while not pieces:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.open()
        await asyncio.to_thread(batching.close)
        return batching.stats

    async def every() -> list[list[int]]:
        return await asyncio.gather(*(tokens_of(number) for number in range(40)))

    assert asyncio.run(every()) == expected
    assert asyncio.run(leave()).cancelled == 1


def test_arguments_of_a_stream_can_be_checked_in_a_thread() -> None:
    generator = Generator(chain_decoder())
    expected = generator.generate([2], max_tokens=5).tokens

    async def tokens() -> list[int]:
        stream = await batching.astart([2], max_tokens=5)
        return [token async for piece in stream for token in piece.tokens]

    with BatchingGenerator(generator) as batching:
        assert asyncio.run(tokens()) == expected
        with pytest.raises(sx.InputError, match="temperature must be at least 0"):
            asyncio.run(batching.astart([2], temperature=-1))


def test_other_arguments_are_errors() -> None:
    with pytest.raises(TypeError, match="generator must be a Generator"):
        BatchingGenerator(chain_decoder())  # type: ignore[arg-type]
    batching = BatchingGenerator(Generator(chain_decoder()))
    assert repr(batching) == "<BatchingGenerator: 0 of 8 rows, 0 requests wait>"
