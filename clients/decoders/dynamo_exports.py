"""Decoders with caches as `torch.onnx.export` traces them with dynamo, of small random language models of Transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import DynamicCache

from decoders.genai_exports import Build, transformers_model
from decoders.random_weights import draw_weights

HEADS = {"head_dim": 16}
BUILDS = {
    "llama": Build("Llama"),
    "qwen3": Build("Qwen3", changes=HEADS),
    "gemma2-softcap": Build("Gemma2", changes={**HEADS, "sliding_window": 64}),
}


class Decoder(torch.nn.Module):  # type: ignore[misc]  # torch is not installed where types are checked
    """A decoder whose caches are tensors, of which the keys and values of all layers come one after the other."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        position_ids: torch.Tensor,
        past_key_values: list[torch.Tensor],
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        cache = DynamicCache()
        for layer in range(len(past_key_values) // 2):
            cache.update(past_key_values[2 * layer], past_key_values[2 * layer + 1], layer)
        result = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=cache,
            use_cache=True,
        )
        states = [state for layer in result.past_key_values.layers for state in (layer.keys, layer.values)]
        return result.logits, states


def write(build: Build, target: Path) -> None:
    """Writes a folder with `model.onnx` and `config.json`."""
    model = draw_weights(transformers_model(build))
    config = model.config
    layers, heads = config.num_hidden_layers, config.num_key_value_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    names = [f"{layer}.{part}" for layer in range(layers) for part in ("key", "value")]
    batch, length, past, total = (torch.export.Dim(name) for name in ("batch", "length", "past", "total"))
    numbers = torch.zeros(2, 3, dtype=torch.int64)
    caches = [torch.zeros(2, heads, 5, size) for _ in names]
    target.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(
        Decoder(model),
        (numbers, torch.ones(2, 8, dtype=torch.int64), numbers + torch.arange(5, 8), caches),
        target / "model.onnx",
        input_names=[
            "input_ids",
            "attention_mask",
            "position_ids",
            *(f"past_key_values.{name}" for name in names),
        ],
        output_names=["logits", *(f"present.{name}" for name in names)],
        dynamic_shapes=(
            {0: batch, 1: length},
            {0: batch, 1: total},
            {0: batch, 1: length},
            [{0: batch, 2: past} for _ in names],
        ),
        dynamo=True,
        external_data=False,
        verbose=False,
    )
    config.save_pretrained(target)
