"""GreedySearch, Sampling, BeamSearch and WhisperBeamSearch beside onnxruntime, on small random decoders."""

import io
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.runtime.session.session import Engine

onnxruntime = pytest.importorskip("onnxruntime")
VOCABULARY, END, PAD = 13, 2, 0
WEIGHTS = f"float[{VOCABULARY},8] e, float[40,8] p, float[8,{VOCABULARY}] w"
HEADS = "Constant <value_ints = [0, 0, 2, 4]> ()"
# A mean of all states so far, weighted by the mask, in the place of attention.
GPT = f"""decoder = gpt (int32[B,S] input_ids, int32[B,S] position_ids, int32[B,T] attention_mask, float[2,B,2,P,4] past_0)
    => (float[B,S,{VOCABULARY}] logits, float[2,B,2,T,4] present_0) {{
      a = Gather(e, input_ids)  b = Gather(p, position_ids)  x = Add(a, b)
      heads = {HEADS}  split = Reshape(x, heads)  states = Transpose <perm = [0, 2, 1, 3]> (split)
      zero = Constant <value_ints = [0]> ()  one = Unsqueeze(states, zero)  two = Concat <axis = 0> (one, one)
      present_0 = Concat <axis = 3> (past_0, two)
      first = Constant <value_int = 0> ()  keys = Gather <axis = 0> (present_0, first)
      f = Cast <to = 1> (attention_mask)  mid = Constant <value_ints = [1, 3]> ()  mask = Unsqueeze(f, mid)
      kept = Mul(keys, mask)  axis = Constant <value_ints = [2]> ()
      total = ReduceSum(kept, axis)  count = ReduceSum(mask, axis)  mean = Div(total, count)
      near = Add(states, mean)  back = Transpose <perm = [0, 2, 1, 3]> (near)
      whole = Constant <value_ints = [0, 0, 8]> ()  y = Reshape(back, whole)  logits = MatMul(y, w) }}"""
# T5: states of the prompt are those of cross attention; those of the decoder grow.
DECODE = f"""
      a = Gather(e, {{tokens}})  heads = {HEADS}  split = Reshape(a, heads)  states = Transpose <perm = [0, 2, 1, 3]> (split)
      {{present}}
      axis = Constant <value_ints = [2]> ()  own = ReduceMean(present_key_self_0, axis)  sum = ReduceSum({{cross}}, axis)
      both = Add(own, sum)  near = Add(states, both)  back = Transpose <perm = [0, 2, 1, 3]> (near)
      whole = Constant <value_ints = [0, 0, 8]> ()  y = Reshape(back, whole)  logits = MatMul(y, w)
      present_value_self_0 = Identity(present_key_self_0)"""
STATES = "float[B,2,L,4] present_key_self_0, float[B,2,L,4] present_value_self_0"
T5 = f"""encoder = enc (int32[B,S] encoder_input_ids, int32[B,S] encoder_attention_mask, int32[B,1] decoder_input_ids)
    => (float[B,1,{VOCABULARY}] logits, float[B,S,8] encoder_hidden_states, {STATES},
        float[B,2,S,4] present_key_cross_0, float[B,2,S,4] present_value_cross_0) {{
      encoder_hidden_states = Gather(e, encoder_input_ids)
      m = Cast <to = 1> (encoder_attention_mask)  last = Constant <value_ints = [2]> ()  mask = Unsqueeze(m, last)
      hidden = Mul(encoder_hidden_states, mask)  parts = {HEADS}  h = Reshape(hidden, parts)
      present_key_cross_0 = Transpose <perm = [0, 2, 1, 3]> (h)  present_value_cross_0 = Identity(present_key_cross_0)
      {DECODE.format(tokens="decoder_input_ids", present="present_key_self_0 = Identity(states)", cross="present_key_cross_0")} }},
  decoder = dec (int32[B,1] input_ids, int32[B,S] encoder_attention_mask, float[B,S,8] encoder_hidden_states,
      float[B,2,P,4] past_key_self_0, float[B,2,P,4] past_value_self_0,
      float[B,2,S,4] past_key_cross_0, float[B,2,S,4] past_value_cross_0)
    => (float[B,1,{VOCABULARY}] logits, {STATES}) {{
      {DECODE.format(tokens="input_ids", present="present_key_self_0 = Concat <axis = 2> (past_key_self_0, states)", cross="past_key_cross_0")} }}"""
PASTS = "float[B,2,P,4] past_key_self_0, float[B,2,P,4] past_value_self_0"
WHISPER = f"""encoder = enc (float[B,8,S] encoder_input_ids, int32[B,C] decoder_input_ids)
    => (float[B,C,{VOCABULARY}] logits, float[B,S,8] encoder_hidden_states, {STATES},
        float[B,2,S,4] present_key_cross_0, float[B,2,S,4] present_value_cross_0) {{
      encoder_hidden_states = Transpose <perm = [0, 2, 1]> (encoder_input_ids)
      parts = {HEADS}  h = Reshape(encoder_hidden_states, parts)
      present_key_cross_0 = Transpose <perm = [0, 2, 1, 3]> (h)  present_value_cross_0 = Identity(present_key_cross_0)
      {DECODE.format(tokens="decoder_input_ids", present="present_key_self_0 = Identity(states)", cross="present_key_cross_0")} }},
  decoder = dec (int32[B,1] input_ids, {PASTS}, float[B,2,S,4] past_key_cross_0, float[B,2,S,4] past_value_cross_0)
    => (float[B,1,{VOCABULARY}] logits, {STATES}) {{
      {DECODE.format(tokens="input_ids", present="present_key_self_0 = Concat <axis = 2> (past_key_self_0, states)", cross="past_key_cross_0")} }}"""
ENGINES: list[Engine] = ["reference", "native"]
IDS = f"eos_token_id = {END}, pad_token_id = {PAD}"


def make_weights(seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    shapes = {"e": (VOCABULARY, 8), "p": (40, 8), "w": (8, VOCABULARY)}
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


def model_of(op: str, attributes: str, inputs: Mapping[str, Array], names: str, results: str) -> sx.Model:
    """A model of one call; names: its inputs, with gaps; results: declared outputs."""
    kinds = {"i": "int32", "f": "float"}
    declared = [f"{kinds[x.dtype.kind]}[{','.join(map(str, x.shape))}] {name}" for name, x in inputs.items()]
    outputs = ", ".join(text.split()[-1] for text in results.split(", "))
    text = f"g ({', '.join([*declared, WEIGHTS])}) => ({results}) {{ {outputs} = com.microsoft.{op} <{attributes}> ({names}) }}"
    return parse_model(text, opset=18, more='"com.microsoft": 1')


def run_onnxruntime(model: sx.Model, feeds: Mapping[str, Array]) -> list[Array]:
    data = io.BytesIO()
    sx.save(model, data)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    return list(onnxruntime.InferenceSession(data.getvalue(), options).run(None, dict(feeds)))


def assert_agree(
    model: sx.Model, feeds: Mapping[str, Array], *, is_cut: bool = False, engines: Sequence[Engine] = ENGINES
) -> None:
    """Asserts that engines agree with onnxruntime; is_cut: which leaves the end of sequences as memory was."""
    answers = run_onnxruntime(model, feeds)
    for engine in engines:
        results = list(sx.Session(model, engine=engine).run(feeds).values())
        for result, answer in zip(results, answers, strict=True):
            assert result.dtype == answer.dtype and result.shape == answer.shape
            if result.ndim == 4:  # scores of steps, of which those that are not made are memory as it was
                steps = int(np.count_nonzero(result.any(axis=(1, 2, 3))))
                assert steps and not result[steps:].any()
                np.testing.assert_allclose(result[:steps], answer[:steps], rtol=1e-4, atol=1e-4)
                continue
            count = written_tokens(answer, feeds["prompt"].shape[1]) if is_cut else len(answer[0])
            np.testing.assert_allclose(result[:, :count], answer[:, :count], rtol=1e-4, atol=1e-4)


def written_tokens(sequences: Array, begin: int) -> int:
    """The tokens up to the one with which the last sequence ends."""
    have_ended = (sequences[:, begin:] == PAD).cumsum(axis=1).astype(bool).all(axis=0)
    return begin + 1 + int((~have_ended).sum())


def prompt(seed: int, *shape: int) -> Array:
    tokens = np.random.default_rng(seed).integers(3, VOCABULARY, shape).astype(np.int32)
    tokens[0, 0] = PAD
    return tokens


def number(value: float) -> Array:
    return np.array([value], np.float32 if isinstance(value, float) else np.int32)


MASKS = {
    "vocab": np.array([1] * 5 + [0] * 2 + [1] * (VOCABULARY - 7), np.int32),
    "prefix": np.array([[1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0]] * 2, np.int32),
}
GREEDY: dict[str, tuple[dict[str, Array], str, str]] = {
    "plain": ({}, "prompt, longest", ""),
    "at least": ({"shortest": number(9)}, "prompt, longest, shortest", ""),
    "penalty": ({"penalty": number(3.0)}, "prompt, longest, , penalty", ""),
    "n-grams": ({}, "prompt, longest", ", no_repeat_ngram_size = 2"),
    "masks": (MASKS, "prompt, longest, , , vocab, prefix", ""),
    "attention": (
        {"seen": np.array([[0, 0, 1, 1], [1, 1, 1, 1]], np.int32)},
        "prompt, longest, , , , , seen",
        "",
    ),
}


@pytest.mark.parametrize("name", GREEDY)
@pytest.mark.parametrize("seed", [1, 2])
def test_greedy_search(name: str, seed: int) -> None:
    more, names, attributes = GREEDY[name]
    inputs = {"prompt": prompt(seed, 2, 4), "longest": number(14), **more}
    model = model_of("GreedySearch", f"{IDS}{attributes}, {GPT}", inputs, names, "int32[B,L] y")
    engines = ENGINES if name == "plain" else ENGINES[:1]
    assert_agree(model, inputs | make_weights(seed), is_cut=True, engines=engines)


@pytest.mark.parametrize("custom", [0, 1])
def test_sampling_of_one_likely_token(custom: int) -> None:
    """With a bound that one token passes, the token is certain."""
    inputs = {"prompt": prompt(3, 2, 4), "longest": number(12), "seed": number(5)}
    attributes = f"{IDS}, top_p = 0.0001, temperature = 0.01, custom = {custom}, filter_value = -1e20, min_tokens_to_keep = 1, {GPT}"
    model = model_of("Sampling", attributes, inputs, "prompt, longest, , , , , , , seed", "int32[B,L] y")
    assert_agree(model, inputs | make_weights(3), is_cut=True, engines=ENGINES[:1])


def test_sampling_draws_tokens_in_proportion() -> None:
    inputs = {"prompt": np.full((4000, 1), 5, np.int32), "longest": number(2), "seed": number(5)}
    attributes = f"{IDS}, top_p = 0.9, temperature = 4.0, filter_value = -1e20, {GPT}"
    results = "int32[B,L] y, float[B,V] z"
    model = model_of("Sampling", attributes, inputs, "prompt, longest, , , , , , , seed", results)
    y, z = sx.Session(model).run(inputs | make_weights(3)).values()
    shares = np.exp(z[0] - z[0].max()) / np.exp(z[0] - z[0].max()).sum()
    counts = np.bincount(np.where(y[:, 1] == PAD, END, y[:, 1]), minlength=VOCABULARY)
    assert (counts > 0).sum() > 2 and not counts[shares == 0].any()
    np.testing.assert_allclose(counts / 4000, shares, atol=0.03)


NAMES = "prompt, longest, shortest, beams, returned, power"  # onnxruntime refuses calls without the sixth
BEAMS: dict[str, tuple[dict[str, Array], str, str]] = {
    "plain": ({}, NAMES, ""),
    "early": ({}, NAMES, ", early_stopping = 1"),
    "lengths": ({"power": number(0.2)}, NAMES, ""),
    "penalty": ({"penalty": number(2.5)}, f"{NAMES}, penalty", ""),
    "n-grams": ({}, NAMES, ", no_repeat_ngram_size = 2"),
    "masks": (MASKS, f"{NAMES}, , vocab, prefix", ""),
}


@pytest.mark.parametrize(
    "graphs", [f"{GPT}", f"model_type = 1, decoder_start_token_id = 3, {T5}"], ids=["GPT", "T5"]
)
@pytest.mark.parametrize("name", BEAMS)
@pytest.mark.parametrize("beams", [1, 3])
def test_beam_search(graphs: str, name: str, beams: int) -> None:
    more, names, attributes = BEAMS[name]
    for seed, shortest in ((1, 0), (2, 6)):
        inputs = {
            "prompt": prompt(seed, 2, 4),
            "longest": number(12),
            "shortest": number(shortest),
            "beams": number(beams),
            "returned": number(min(beams, 2)),
            "power": number(1.0),
            **more,
        }
        results = "int32[B,R,L] y, float[B,R] z, float[N,B,K,V] s"
        model = model_of("BeamSearch", f"{IDS}{attributes}, {graphs}", inputs, names, results)
        engines = ENGINES if name == "plain" and seed == 1 else ENGINES[:1]
        assert_agree(model, inputs | make_weights(seed), engines=engines)


@pytest.mark.parametrize("timestamps", [0, 1])
@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_whisper(timestamps: int, temperature: float) -> None:
    rng = np.random.default_rng(7)
    inputs = {
        "features": rng.standard_normal((2, 8, 5)).astype(np.float32),
        "longest": number(14),
        "shortest": number(0),
        "beams": number(2),
        "returned": number(2),
        "power": number(1.0),
        "penalty": number(1.0),
        "start": np.array([[3, 4, 6]] * 2, np.int32),
        "processor": number(timestamps),
        "heat": number(temperature),
    }
    tokens = (
        "decoder_start_token_id = 3, beginning_timestamp_token_id = 9, no_timestamps_token_id = 8,"
        " start_of_lm_token_id = 7, transcribe_token_id = 4, translate_token_id = 5, no_speech_token_id = 1"
    )
    names = "features, longest, shortest, beams, returned, power, penalty, , , , start, processor, , , heat"
    results = "int32[B,R,L] y, float[B,R] z"
    model = model_of(
        "WhisperBeamSearch", f"model_type = 2, {IDS}, {tokens}, {WHISPER}", inputs, names, results
    )
    assert_agree(model, inputs | make_weights(7), engines=ENGINES[:1])


@pytest.mark.parametrize(
    ("op", "attributes", "inputs", "message"),
    [
        ("GreedySearch", GPT, {"longest": number(3)}, "max_length must be above the 4 first tokens"),
        ("GreedySearch", f"model_type = 1, {GPT}", {}, "model_type must be 0"),
        ("BeamSearch", GPT, {"beams": number(0)}, "num_beams must be from 1 to 128; got 0"),
        (
            "BeamSearch",
            GPT,
            {"returned": number(4)},
            r"num_return_sequences must be from 1 to num_beams \(3\)",
        ),
        ("BeamSearch", f"model_type = 1, decoder_start_token_id = 3, {GPT}", {}, "encoder must be a graph"),
        ("BeamSearch", f"model_type = 1, {T5}", {}, "decoder_start_token_id must be a token"),
        ("BeamSearch", GPT, {"power": number(1.0).repeat(2)}, "must have one element; got 2"),
    ],
)
def test_invalid_searches_are_refused(
    op: str, attributes: str, inputs: dict[str, Array], message: str
) -> None:
    valid = {"prompt": prompt(1, 2, 4), "longest": number(9)}
    if op == "BeamSearch":
        valid |= {"shortest": number(0), "beams": number(3), "returned": number(1), "power": number(1.0)}
    feeds = valid | inputs
    model = model_of(
        op,
        f"{IDS}, {attributes}",
        feeds,
        ", ".join(feeds),
        "int32[B,R] y" if op[0] == "G" else "int32[B,R,L] y",
    )
    with pytest.raises(EvaluationError, match=message):
        sx.Session(model, engine="reference").run(feeds | make_weights(1))
