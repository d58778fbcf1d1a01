"""Folders of mobius, which builds the graphs of models without tracing them, of small random models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers as tr
from mobius import build

from decoders.genai_exports import WORDS, Build, transformers_model
from decoders.random_weights import draw_weights

HEADS = {"head_dim": 16}
WINDOW = {**HEADS, "sliding_window": 6}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
LINEAR_ATTENTION: Mapping[str, Any] = {
    **HEADS,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "layer_types": ["linear_attention", "full_attention"],
}
STATES: Mapping[str, Any] = {
    "num_heads": 4,
    "head_dim": 32,
    "state_size": 16,
    "n_groups": 1,
    "expand": 2,
    "intermediate_size": 128,
    "chunk_size": 8,
}
BUILDS: Mapping[str, Build] = {
    "llama": Build("Llama"),
    "qwen3": Build("Qwen3", changes=HEADS),
    "phi3": Build("Phi3"),
    "mistral-window": Build("Mistral", changes={"sliding_window": 6}),
    "gemma2-softcap": Build("Gemma2", changes=WINDOW),
    "gptoss-sinks": Build("GptOss", changes={**WINDOW, **EXPERTS}),
    "mamba2": Build("Mamba2", changes=STATES),
    "qwen3-next": Build("Qwen3Next", changes=LINEAR_ATTENTION),
}
PROVIDERS = ("default", "cpu")  # operators of ai.onnx, and those of onnxruntime


def whisper() -> Any:
    heads = {f"{part}_attention_heads": 4 for part in ("encoder", "decoder")}
    layers = {f"{part}_layers": 2 for part in ("encoder", "decoder")}
    widths = {f"{part}_ffn_dim": 64 for part in ("encoder", "decoder")}
    tokens = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2, "decoder_start_token_id": 2}
    options = {**heads, **layers, **widths, **tokens, "max_target_positions": 64}
    return tr.WhisperForConditionalGeneration(tr.WhisperConfig(vocab_size=WORDS, d_model=32, **options))


def write(name: str, provider: str, target: Path) -> None:
    """Writes a folder with `config.json` and `model.onnx`, or with folders of an encoder and a decoder.

    name: of `BUILDS`, or "whisper".
    """
    with TemporaryDirectory() as source:
        torch.manual_seed(0)
        model = draw_weights(whisper() if name == "whisper" else transformers_model(BUILDS[name]))
        model.save_pretrained(source)
        build(source, execution_provider=provider).save(str(target))
    model.config.save_pretrained(target)
