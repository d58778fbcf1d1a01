"""Caches are continued in their memory: with the logits of runs that copy, whatever is forked, cut or cancelled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from generate.attention_decoders import grouped_decoder, masked_decoder
from generate.decoders import recurrent_decoder, summing_decoder
from generate.static_decoder import static_file
from sardonyx._src.generate.decoder import cache_memory
from sardonyx._src.generate.decoder.cache_memory import round_room
from sardonyx._src.generate.decoder.cache_room import has_edited_caches
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.decoder.prefix_store import PrefixStore
from sardonyx._src.generate.decoder.state import DecoderState
from sardonyx._src.generate.opening import open_decoder_session
from sardonyx._src.ir import Array
from sardonyx.generate import Generator

TOKENS = np.array([[1, 5, 2, 2, 6, 0, 3, 3, 1, 4]])


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_memory, "MIN_BLOCK", 4)


def grouped() -> TokenDecoder:
    return TokenDecoder(sx.Session(grouped_decoder(), threads=1))


def static() -> TokenDecoder:
    return TokenDecoder(sx.Session(static_file(), threads=1))


def concat(threads: int = 1) -> TokenDecoder:
    session = open_decoder_session(masked_decoder(), {"threads": threads}, "", has_encoder=False)
    return TokenDecoder(session)


DECODERS = pytest.mark.parametrize("make", [grouped, static, concat])


def copying(decoder: TokenDecoder) -> TokenDecoder:
    """The same decoder, which updates no cache in place; of `concat` the model without room."""
    if has_edited_caches(decoder.session):
        return TokenDecoder(sx.Session(masked_decoder(), threads=1, shapes="off"))
    other = TokenDecoder(decoder.session)
    other.updated = ()
    return other


def read_each(decoder: TokenDecoder, state: DecoderState, tokens: Array) -> tuple[list[Array], DecoderState]:
    """The logits after each token, and the state after all."""
    rows = []
    for column in range(tokens.shape[1]):
        logits, state = decoder.read(state, tokens[:, column : column + 1])
        rows.append(logits[:, -1])
    return rows, state


def memory_of(state: DecoderState) -> object:
    assert state.claim is not None
    return state.claim.memory


@pytest.mark.parametrize("make", [grouped, static, concat, partial(concat, 2)])
def test_bits_are_those_of_runs_that_copy(make: Any) -> None:
    decoder = make()
    assert decoder.updated == decoder.roles.caches
    other = copying(decoder)
    (first, state), (expected, plain) = (d.read(d.start(), TOKENS[:, :3]) for d in (decoder, other))
    np.testing.assert_array_equal(first, expected)
    rows, state = read_each(decoder, state, TOKENS[:, 3:])
    expected_rows, plain = read_each(other, plain, TOKENS[:, 3:])
    np.testing.assert_array_equal(rows, expected_rows)
    for name, cache in plain.caches.items():
        np.testing.assert_array_equal(state.caches[name], cache)


def test_tokens_are_written_in_the_memory_of_the_state_before() -> None:
    decoder = grouped()
    _, state = decoder.read(decoder.start(), TOKENS[:, :5])
    memories = [memory_of(state)]
    for column in range(5, 10):
        _, state = decoder.read(state, TOKENS[:, column : column + 1])
        memories.append(memory_of(state))
    # Blocks of four: of the eight entries of the first memory, five are used, and the ninth token moves to another one.
    assert [memory is memories[0] for memory in memories] == [True] * 4 + [False] * 2
    assert memories[4] is memories[5]
    assert {cache.shape[2] for cache in state.caches.values()} == {10}


def test_rooms_grow_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert [round_room(n) for n in (0, 1, 64, 65, 512, 513, 1024, 1025, 4097)] == [
        *(0, 64, 64, 128, 512, 576, 1024, 1152),
        4608,
    ]
    for length in range(1, 10_000, 7):
        assert length <= round_room(length) <= length + max(64, length // 8)


@DECODERS
def test_forks_diverge(make: Any) -> None:
    """Two continuations of one state, token by token in turns."""
    decoder = make()
    other = copying(decoder)
    _, state = decoder.read(decoder.start(), TOKENS[:, :5])
    forks, paths = [state, state, state.cut(4, decoder.roles.caches)], [[], [], [TOKENS[0, 4]]]
    for step in range(5):
        for number in range(3):
            token = (3 * number + step) % 7
            paths[number].append(token)
            logits, forks[number] = decoder.read(forks[number], np.array([[token]]))
            prompt = [*TOKENS[0, : 5 - (number == 2)], *paths[number][number == 2 :]]
            expected, _ = other.read(other.start(), np.array([prompt]))
            np.testing.assert_allclose(logits[:, -1], expected[:, -1], 1e-4, 1e-5)
    assert len({id(memory_of(fork)) for fork in forks}) == 3
    again, _ = decoder.read(state, TOKENS[:, 5:6])
    expected, _ = other.read(other.start(), TOKENS[:, :6])
    np.testing.assert_allclose(again[:, -1], expected[:, -1], 1e-4, 1e-5)


def test_a_dropped_state_is_overwritten() -> None:
    """As after a draft of which few tokens were chosen."""
    decoder = grouped()
    _, state = decoder.read(decoder.start(), TOKENS[:, :7])
    memory = memory_of(state)
    state = state.cut(4, decoder.roles.caches)
    logits, state = decoder.read(state, np.array([[6, 6]]))
    assert memory_of(state) is memory
    expected, _ = copying(decoder).read(decoder.start(), np.array([[*TOKENS[0, :4], 6, 6]]))
    np.testing.assert_allclose(logits[:, -1], expected[:, -1], 1e-4, 1e-5)


def test_a_kept_state_is_not_overwritten() -> None:
    decoder = grouped()
    store = PrefixStore(1 << 20, decoder.roles.caches)
    _, state = decoder.read(decoder.start(), TOKENS[:, :7])
    store.keep(state)
    assert store.bytes == state.bytes == 2 * 2 * 8 * 4 * 4
    known = store.longest(np.array([*TOKENS[0, :4], 4, 4]))
    assert known is not None and known.length == 4
    _, changed = decoder.read(known, np.array([[4, 4]]))
    assert memory_of(changed) is not memory_of(state)
    logits, longer = decoder.read(state, TOKENS[:, 7:8])  # continues in the memory of the kept state
    assert memory_of(longer) is memory_of(state)
    expected, _ = copying(decoder).read(decoder.start(), TOKENS[:, :8])
    np.testing.assert_allclose(logits[:, -1], expected[:, -1], 1e-4, 1e-5)
    store.keep(known.cut(2, decoder.roles.caches))
    assert store.bytes == state.bytes  # of one memory


@DECODERS
def test_rows_are_selected(make: Any) -> None:
    decoder = make()
    tokens = np.concatenate([TOKENS, TOKENS[:, ::-1]])[:, :5]
    _, state = decoder.read(decoder.start(2), tokens)
    assert state.select(np.array([True, True])) is state
    swapped = state.select(np.array([1, 0, 1]))
    logits, longer = decoder.read(swapped, np.array([[6], [6], [2]]))
    assert memory_of(longer) is memory_of(swapped)
    expected, _ = copying(decoder).read(
        decoder.start(3), np.concatenate([tokens[[1, 0, 1]], [[6], [6], [2]]], axis=1)
    )
    np.testing.assert_allclose(logits[:, -1], expected[:, -1], 1e-4, 1e-5)


@DECODERS
@pytest.mark.parametrize(
    "error", [sx.CancelledError("ended"), KeyboardInterrupt()], ids=["cancelled", "interrupt"]
)
def test_a_run_that_ends_early_leaves_the_state(
    make: Any, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run has written new entries, and a unit of it may go on to write: the next run has other memory."""
    decoder = make()
    _, state = decoder.read(decoder.start(), TOKENS[:, :5])
    memory, run = memory_of(state), decoder.session.run

    def run_and_fail(feeds: Mapping[str, Array], **options: Any) -> None:
        run(feeds, **options)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(decoder.session, "run", run_and_fail)
        with pytest.raises(type(error)):
            decoder.read(state, np.array([[6]]))
    logits, longer = decoder.read(state, TOKENS[:, 5:6])
    assert memory_of(longer) is not memory
    expected, _ = copying(decoder).read(decoder.start(), TOKENS[:, :6])
    np.testing.assert_allclose(logits[:, -1], expected[:, -1], 1e-4, 1e-5)


def test_a_cancelled_token_ends_a_run_in_place() -> None:
    decoder = grouped()
    _, state = decoder.read(decoder.start(), TOKENS[:, :5])
    token = sx.CancellationToken()
    token.cancel()
    with pytest.raises(sx.CancelledError):
        decoder.read(state, np.array([[6]]), cancellation=token)
    logits, _ = decoder.read(state, TOKENS[:, 5:6])
    expected, _ = copying(decoder).read(decoder.start(), TOKENS[:, :6])
    np.testing.assert_allclose(logits[:, -1], expected[:, -1], 1e-4, 1e-5)


@pytest.mark.parametrize("model", [grouped_decoder, masked_decoder])
def test_generations_are_those_of_runs_that_copy(model: Any) -> None:
    """Tokens of a prompt, a conversation that continues, drafts, beams and several results."""
    plain, generator = Generator(sx.Session(model(), shapes="off")), Generator(model(), prefix_bytes=1 << 20)
    drafting = Generator(model(), draft=Generator(model()), prefix_bytes=1 << 20)
    plain.decoder.updated = ()
    assert generator.decoder.updated and drafting.decoder.updated
    prompt = TOKENS[0].tolist()
    for settings in ({}, {"n": 3, "temperature": 1.0, "seed": 4}, {"beams": 3, "n": 2}):
        expected = plain.generate(prompt, max_tokens=12, **settings)
        for each in (generator, drafting):
            for _ in range(2):
                assert [r.tokens for r in each.generate(prompt, max_tokens=12, **settings).results] == [
                    r.tokens for r in expected.results
                ]


def test_sessions_that_compare_sizes_have_no_room() -> None:
    """The cache is declared to end with the last token, which one with room does not."""
    model = grouped_decoder()
    for value in model.graph.outputs[1:]:
        value.type = sx.Builder.tensor(sx.DataType.FLOAT, ["batch", 2, "total", 4])
    assert TokenDecoder(sx.Session(model)).updated == ()
    assert len(TokenDecoder(sx.Session(model, shapes="off")).updated) == 2
    assert len(Generator(model).decoder.updated) == 2


@pytest.mark.parametrize("model", [masked_decoder, summing_decoder, recurrent_decoder])
def test_other_caches_have_no_room(model: Any) -> None:
    assert TokenDecoder(sx.Session(model(), shapes="off")).updated == ()


@pytest.mark.parametrize(
    ("model", "has_room"), [(masked_decoder, True), (summing_decoder, True), (recurrent_decoder, False)]
)
def test_generators_give_caches_of_concat_room(model: Any, has_room: bool) -> None:
    decoder = Generator(model()).decoder
    assert has_edited_caches(decoder.session) == has_room
    assert decoder.updated == (decoder.roles.caches if has_room else ())


def test_caches_that_runs_would_copy_have_no_room() -> None:
    """As those of the reference engine."""
    generator = Generator(masked_decoder(), engine="reference")
    assert not has_edited_caches(generator.session)
    expected = Generator(masked_decoder()).generate(TOKENS[0].tolist(), max_tokens=4)
    assert generator.generate(TOKENS[0].tolist(), max_tokens=4).tokens == expected.tokens
