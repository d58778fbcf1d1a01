"""Folders that Optimum writes, of small random language models and encoder-decoders of Transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers as tr
from optimum.exporters.onnx import main_export

from decoders.random_weights import draw_weights, save_tokenizer

WORDS = 128
ENDS: Mapping[str, Any] = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
LLAMA: Mapping[str, Any] = {
    "vocab_size": WORDS,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "tie_word_embeddings": False,
    **ENDS,
}
GPT2 = {"vocab_size": WORDS, "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 256, **ENDS}
T5 = {
    "vocab_size": WORDS,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 64,
    "num_layers": 2,
    "num_heads": 4,
    "decoder_start_token_id": 2,
    **ENDS,
}
BART = {
    "vocab_size": WORDS,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
    "decoder_start_token_id": 2,
    "forced_bos_token_id": None,
    "forced_eos_token_id": None,
    **ENDS,
}
WHISPER = {
    **BART,
    "num_mel_bins": 80,
    "max_source_positions": 1500,
    "max_target_positions": 64,
    "suppress_tokens": None,
    "begin_suppress_tokens": None,
}
DECODER, ENCODER_DECODER, SPEECH = (
    "text-generation-with-past",
    "text2text-generation-with-past",
    "automatic-speech-recognition-with-past",
)


@dataclass(frozen=True)
class Model:
    """make: the random model.  task: what Optimum exports.  merged: whether prompts and later tokens have one decoder."""

    make: Callable[[], Any]
    task: str
    merged: bool = True


def llama() -> Any:
    return tr.LlamaForCausalLM(tr.LlamaConfig(**LLAMA))


def gpt2() -> Any:
    return tr.GPT2LMHeadModel(tr.GPT2Config(**GPT2))


def t5() -> Any:
    return tr.T5ForConditionalGeneration(tr.T5Config(**T5))


def bart() -> Any:
    return tr.BartForConditionalGeneration(tr.BartConfig(**BART))


def whisper() -> Any:
    return tr.WhisperForConditionalGeneration(tr.WhisperConfig(**WHISPER))


MODELS: Mapping[str, Model] = {
    "llama": Model(llama, DECODER),
    "llama-without-cache": Model(llama, "text-generation"),
    "qwen2": Model(lambda: tr.Qwen2ForCausalLM(tr.Qwen2Config(**LLAMA)), DECODER),
    "gpt2": Model(gpt2, DECODER),
    "gpt-neox": Model(
        lambda: tr.GPTNeoXForCausalLM(
            tr.GPTNeoXConfig(**{k: v for k, v in LLAMA.items() if k != "num_key_value_heads"})
        ),
        DECODER,
    ),
    "opt": Model(
        lambda: tr.OPTForCausalLM(
            tr.OPTConfig(
                vocab_size=WORDS,
                hidden_size=64,
                ffn_dim=96,
                num_hidden_layers=2,
                num_attention_heads=4,
                word_embed_proj_dim=64,
                max_position_embeddings=256,
                **ENDS,
            )
        ),
        DECODER,
    ),
    "bloom": Model(
        lambda: tr.BloomForCausalLM(
            tr.BloomConfig(vocab_size=WORDS, hidden_size=64, n_layer=2, n_head=4, **ENDS)
        ),
        DECODER,
    ),
    "t5": Model(t5, ENCODER_DECODER),
    "t5-two-decoders": Model(t5, ENCODER_DECODER, merged=False),
    "bart": Model(bart, ENCODER_DECODER),
    "whisper": Model(whisper, SPEECH),
    "whisper-two-decoders": Model(whisper, SPEECH, merged=False),
}


def write(model: Model, target: Path) -> None:
    """Writes a folder with `config.json` and one decoder, or an encoder and two or three of them."""
    with TemporaryDirectory() as name:
        torch.manual_seed(0)
        draw_weights(model.make()).save_pretrained(name)
        save_tokenizer(Path(name), WORDS)
        if model.task == SPEECH:
            (Path(name) / "preprocessor_config.json").write_text("{}", encoding="utf-8")
        options = {"do_validation": False, "library_name": "transformers"}
        main_export(name, target, task=model.task, no_post_process=not model.merged, **options)
