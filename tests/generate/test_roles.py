"""Inputs, outputs and caches of decoders are recognized, and what is not evident is an error with its cure."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from generate.decoders import chain_decoder, summing_decoder
from models import parse_model
from sardonyx._src.generate.decoder.cache_pairs import name_key
from sardonyx._src.generate.decoder.decoder import TokenDecoder


@pytest.mark.parametrize(
    ("past", "present"),
    [
        ("past_key_values.0.key", "present.0.key"),
        ("past_key_0", "present_key_0"),
        ("key_cache.3", "updated_key_cache.3"),
        ("past.0.value", "present.0.value"),
        ("in_state_0", "out_state_0"),
    ],
)
def test_names_of_exporters_are_paired(past: str, present: str) -> None:
    assert name_key(past) == name_key(present)
    (pair,) = TokenDecoder(sx.Session(summing_decoder(past, present))).roles.caches
    assert (pair.past, pair.present, pair.axis, pair.has_positions) == (past, present, 1, True)


def test_names_without_meaning_are_paired_by_the_graph() -> None:
    (pair,) = TokenDecoder(sx.Session(summing_decoder("a", "z"))).roles.caches
    assert (pair.past, pair.present) == ("a", "z")


def test_results_of_one_operator_are_paired_by_its_signature() -> None:
    model = parse_model(
        """g (int64[B,S] x, float[B,2,P,4] a, float[B,2,P,4] b) => (float[B,S,8] logits, float[B,2,T,4] c, float[B,2,T,4] d)
        <float[9,8] e = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
         28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56,
         57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71}>
        { h = Gather(e, x)
          logits, d, c = Attention<q_num_heads = 2, kv_num_heads = 2, is_causal = 1>(h, h, h, , b, a) }""",
        opset=23,
    )
    pairs = {pair.past: pair.present for pair in TokenDecoder(sx.Session(model)).roles.caches}
    assert pairs == {"b": "d", "a": "c"}


def test_two_caches_that_are_as_near_must_be_stated() -> None:
    model = parse_model(
        """g (int64[B,S] x, float[B,P] a, float[B,P] b) => (float[B,S,1] logits, float[B,T] z, float[B,T] y)
        <int64[1] two = {2}> { f = Cast<to = 1>(x)  logits = Unsqueeze(f, two)
          z = Concat<axis = 1>(a, b)  y = Concat<axis = 1>(b, a) }"""
    )
    session = sx.Session(model)
    with pytest.raises(sx.InputError, match=r"must be evident; got 'a', 'b': state it as roles=\{'a': 'z'\}"):
        TokenDecoder(session)
    pairs = TokenDecoder(session, {"a": "y", "b": "z"}).roles.caches
    assert [(pair.past, pair.present) for pair in pairs] == [("a", "y"), ("b", "z")]


def test_inputs_without_a_role_are_refused() -> None:
    model = parse_model(
        "g (int64[B,S] tokens, float[B] extra) => (float[B,S,1] logits) <int64[1] two = {2}> { f = Cast<to = 1>(tokens) logits = Unsqueeze(f, two) }"
    )
    with pytest.raises(
        sx.InputError, match=r"input extra: float\[B\] has no role in a decoder: say its role"
    ):
        TokenDecoder(sx.Session(model))


def test_roles_that_are_stated_take_precedence() -> None:
    session = sx.Session(chain_decoder())
    assert TokenDecoder(session, {"tokens": "tokens", "logits": "logits"}).roles.names["tokens"] == "tokens"
    with pytest.raises(sx.InputError, match="a role must be one of tokens, mask"):
        TokenDecoder(session, {"token": "tokens"})
    with pytest.raises(
        sx.InputError, match="the role 'tokens' must be an input of the model: tokens; got 'x'"
    ):
        TokenDecoder(session, {"tokens": "x"})


def test_tokens_and_logits_must_be_evident() -> None:
    two = parse_model("g (int64[B,S] a, int64[B,S] b) => (int64[B,S] c) { c = Add(a, b) }")
    with pytest.raises(sx.InputError, match=r"the input of tokens must be evident.*got \['a', 'b'\]"):
        TokenDecoder(sx.Session(two))
    none = parse_model(
        "g (int64[B,S] tokens) => (int64[S] c, int64[S] d) { c = ReduceSum<keepdims = 0>(tokens, i) d = Neg(c) }".replace(
            "{ c", "<int64[1] i = {0}> { c"
        )
    )
    with pytest.raises(sx.InputError, match="the output of logits must be evident"):
        TokenDecoder(sx.Session(none))


def test_open_sizes_of_caches_must_be_stated() -> None:
    model = summing_decoder()
    decoder = TokenDecoder(sx.Session(model))
    assert decoder.start().caches["past_key_values.0.value"].shape == (1, 0, 4)
    open_model = parse_model(
        "g (int64[B,S] tokens, float[B,P,D] past) => (float[B,S,1] logits, float[B,T,D] present) <int64[1] two = {2}> { f = Cast<to = 1>(tokens) logits = Unsqueeze(f, two) present = Concat<axis = 1>(past, past) }"
    )
    with pytest.raises(
        sx.InputError, match=r"the size of 'D' of the cache .* state it as sizes=\{'D': length\}"
    ):
        TokenDecoder(sx.Session(open_model)).start()
    assert TokenDecoder(sx.Session(open_model), sizes={"D": 3}).start(2).caches["past"].shape == (2, 0, 3)


def test_caches_whose_outputs_declare_nothing_grow_by_their_open_axis() -> None:
    """Writers often leave the types of outputs out."""
    model = parse_model(
        "g (int64[B,S] tokens, float[B,P] past) => (float[B,S,1] logits, present) <int64[1] two = {2}> { f = Cast<to = 1>(tokens) logits = Unsqueeze(f, two) present = Concat<axis = 1>(past, f) }"
    )
    decoder = TokenDecoder(sx.Session(model))
    (pair,) = decoder.roles.caches
    assert (pair.present, pair.axis) == ("present", 1)
    _, state = decoder.read(decoder.start(), np.array([[4, 5]]))
    np.testing.assert_array_equal(state.caches["past"], [[4, 5]])
