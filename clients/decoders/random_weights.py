"""Random weights and a tokenizer for small models of Transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast


def draw_weights(model: Any) -> Any:
    """The model with weights that tell tokens apart: those of a new one leave all logits nearly equal."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.randn(weight.shape, generator=generator)
    return model.eval()


def save_tokenizer(folder: Path, words: int) -> None:
    """The words w0, w1, and so on, between spaces."""
    library = Tokenizer(models.WordLevel({f"w{i}": i for i in range(words)}, unk_token="w2"))
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=library, unk_token="w2").save_pretrained(folder)
