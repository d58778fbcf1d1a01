"""Small encoder-decoders in the forms of several exporters, whose logits can be computed by hand.

The logits of a token are a product of the sum of all embeddings so far, of the decoder's tokens and of the encoder's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

import sardonyx as sx
from generate.decoders import EMBEDDING, OUT
from generate.folders import word_tokenizer
from models import parse_model
from sardonyx._src.ir import Array, Value

STATES, MASK = "encoder_hidden_states", "encoder_attention_mask"
SELF, CROSS = "past_key_values.0.decoder.key", "past_key_values.0.encoder.key"
NEW_SELF, NEW_CROSS = "present.0.decoder.key", "present.0.encoder.key"
FLOAT, INT64 = sx.DataType.FLOAT, sx.DataType.INT64
START = 3


def expected_tokens(source: Array, count: int, begin: Sequence[int] = (START,)) -> list[int]:
    """Greedy tokens after those of `begin`.  source: [4], the sum of the encoder's states."""
    tokens = list(begin)
    for _ in range(count):
        logits = (EMBEDDING[tokens].astype(np.float64).sum(0) + source) @ OUT
        tokens.append(int(logits.argmax()))
    return tokens[len(begin) :]


def text_source(tokens: Sequence[int]) -> Array:
    """The sum of the states of a text."""
    return np.asarray(EMBEDDING[list(tokens)].astype(np.float64).sum(0))


def text_encoder() -> sx.Model:
    b = sx.Builder(opset=21)
    ids = b.input("input_ids", INT64, ["batch", "source"])
    mask = b.input("attention_mask", INT64, ["batch", "source"])
    weights = b.Unsqueeze(b.Cast(mask, to=1), np.array([2]))
    b.output(b.Mul(b.Gather(EMBEDDING, ids), weights), "last_hidden_state")
    return b.model()


def text_encoder_with_cache() -> sx.Model:
    b = sx.Builder(opset=21)
    ids = b.input("input_ids", sx.DataType.INT64, ["batch", "source"])
    b.output(b.Unsqueeze(b.Gather(EMBEDDING, ids), np.array([1])), "present.0.encoder.key")
    return b.model()


def feature_encoder(*, with_caches: bool = False) -> sx.Model:
    """States are the features [batch, 4, source], transposed; `with_caches`, they are a cache of the decoder, too."""
    b = sx.Builder(opset=21)
    features = b.input("audio_features", FLOAT, ["batch", 4, "source"])
    states = b.Transpose(features, perm=[0, 2, 1])
    b.output(states, "hidden_states")
    if with_caches:
        b.output(b.Unsqueeze(states, np.array([1])), "present_key_cross_0")
    return b.model()


class Decoder:
    """Builds a decoder."""

    def __init__(self) -> None:
        self.b = sx.Builder(opset=21)
        self.ids = self.b.input("input_ids", INT64, ["batch", "length"])

    def finish(self, source: Value, past: str | None, present: str) -> sx.Model:
        """source: [batch, 4].  past: the input of the embeddings so far, [batch, 1, past, 4]."""
        b, every = self.b, self.b.Unsqueeze(self.b.Gather(EMBEDDING, self.ids), np.array([1]))
        if past is not None:
            every = b.Concat(b.input(past, FLOAT, ["batch", 1, "past", 4]), every, axis=2)
        sums = b.CumSum(b.Squeeze(every, np.array([1])), np.array(1))
        latest = b.Slice(sums, b.Neg(b.Shape(self.ids, start=1, end=2)), np.array([2**31]), np.array([1]))
        b.output(b.MatMul(b.Add(latest, b.Unsqueeze(source, np.array([1]))), OUT), "logits")
        b.output(every, present, sx.Builder.tensor(FLOAT, ["batch", 1, "total", 4]))
        return b.model()

    def states(self) -> Value:
        return self.b.input(STATES, FLOAT, ["batch", "source", 4])

    def sum_of(self, states: Value, axis: int = 1) -> Value:
        return self.b.ReduceSum(states, np.array([axis]), keepdims=0)


def decoder_of_states() -> sx.Model:
    """A decoder that reads the states of the encoder, with their mask, in each run."""
    decoder = Decoder()
    states, b = decoder.states(), decoder.b
    weights = b.Unsqueeze(b.Cast(b.input(MASK, INT64, ["batch", "source"]), to=1), np.array([2]))
    return decoder.finish(decoder.sum_of(b.Mul(states, weights)), SELF, NEW_SELF)


def first_decoder() -> sx.Model:
    """A decoder without past, which computes the cache of the encoder's states."""
    decoder = Decoder()
    cache = decoder.b.Unsqueeze(decoder.states(), np.array([1]))
    decoder.b.output(cache, NEW_CROSS)
    return decoder.finish(decoder.sum_of(decoder.b.Squeeze(cache, np.array([1]))), None, NEW_SELF)


def later_decoder(cross: str = CROSS, past: str = SELF, present: str = NEW_SELF) -> sx.Model:
    """A decoder that reads the cache of the encoder's states."""
    decoder = Decoder()
    cache = decoder.b.input(cross, FLOAT, ["batch", 1, "source", 4])
    source = decoder.sum_of(decoder.b.Squeeze(cache, np.array([1])))
    return decoder.finish(source, past, present)


def merged_decoder() -> sx.Model:
    """Both in one, chosen by `use_cache_branch`; with caches, it returns an empty array in place of that of the encoder."""
    past, cross = "past_key_values_0_decoder_key", "past_key_values_0_encoder_key"
    new, new_cross = "present_0_decoder_key", "present_0_encoder_key"
    embedding, out = (", ".join(map(repr, weights.ravel().tolist())) for weights in (EMBEDDING, OUT))
    return parse_model(
        f"""g (int64[B,S] input_ids, float[B,N,4] {STATES}, float[B,1,P,4] {past}, float[B,1,N,4] {cross},
          bool[1] use_cache_branch) => (float[B,S,7] logits, float[B,1,T,4] {new}, float[B,1,N,4] {new_cross})
        <int64[1] one = {{1}}, int64 two = {{2}}, int64[1] far = {{1000000}}, int64[4] none = {{0, 1, 1, 4}},
         float[7,4] embedding = {{{embedding}}}, float[4,7] out = {{{out}}}>
        {{ e = Gather(embedding, input_ids)  n = Unsqueeze(e, one)
           {new}, source, {new_cross} = If(use_cache_branch) <
             then_branch = t () => (float[B,1,T,4] a, float[B,4] b, float[M,1,K,4] c) {{
               a = Concat<axis = 2>({past}, n)  u = Squeeze({cross}, one)  b = ReduceSum<keepdims = 0>(u, one)
               c = ConstantOfShape(none) }},
             else_branch = f () => (float[B,1,T,4] d, float[B,4] g, float[M,1,K,4] h) {{
               d = Identity(n)  g = ReduceSum<keepdims = 0>({STATES}, one)  h = Unsqueeze({STATES}, one) }}>
           every = CumSum({new}, two)  sums = Squeeze(every, one)
           length = Shape<start = 1, end = 2>(input_ids)  first = Neg(length)  latest = Slice(sums, first, far, one)
           wide = Unsqueeze(source, one)  both = Add(latest, wide)  logits = MatMul(both, out) }}"""
    )


def save_models(folder: Path, **models: sx.Model) -> Path:
    """A folder with models, by the names of their files without `.onnx`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, model in models.items():
        sx.save(model, folder / f"{name}.onnx")
    return folder


FOLDERS: Mapping[str, Callable[[], Mapping[str, sx.Model]]] = {
    "states": lambda: {"decoder_model": decoder_of_states()},
    "merged": lambda: {"decoder_model_merged": merged_decoder()},
    "two decoders": lambda: {"decoder_model": first_decoder(), "decoder_with_past_model": later_decoder()},
}
CONFIG = {"decoder_start_token_id": START, "eos_token_id": 100, "max_target_positions": 40}


def text_folder(folder: Path, form: str = "two decoders") -> Path:
    save_models(folder, encoder_model=text_encoder(), **FOLDERS[form]())
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    word_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


def genai_folder(folder: Path) -> Path:
    """Features, with a cache of the encoder's states, as the builder writes Whisper."""
    decoder = later_decoder("past_key_cross_0", "past_key_self_0", "present_key_self_0")
    save_models(folder, encoder=feature_encoder(with_caches=True), decoder=decoder)
    config = {
        "model": {
            "bos_token_id": START,
            "eos_token_id": 100,
            "context_length": 40,
            "decoder": {
                "filename": "decoder.onnx",
                "num_hidden_layers": 1,
                "inputs": {
                    "input_ids": "input_ids",
                    "past_key_names": "past_key_self_%d",
                    "cross_past_key_names": "past_key_cross_%d",
                },
                "outputs": {"logits": "logits", "present_key_names": "present_key_self_%d"},
            },
            "encoder": {
                "filename": "encoder.onnx",
                "inputs": {"audio_features": "audio_features"},
                "outputs": {
                    "encoder_hidden_states": "hidden_states",
                    "cross_present_key_names": "present_key_cross_%d",
                },
            },
        }
    }
    (folder / "genai_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def write_encoder_decoders(folder: Path) -> None:
    """What the pages of the documentation name: `translator`, of texts, and `listener`, of features."""
    text_folder(folder / "translator")
    genai_folder(folder / "listener")
