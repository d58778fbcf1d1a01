# /// script
# dependencies = ["torch==2.13.0", "optimum-onnx==0.1.0", "onnxruntime==1.23.2"]
# ///
"""Small random networks of Transformers, exported by Optimum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as tr
from exports import export_models, normal, tokens
from optimum.exporters.onnx import export as export_onnx
from optimum.exporters.tasks import TasksManager

WORDS, LENGTH = 1000, 64
SIZES = {"num_attention_heads": 4, "num_hidden_layers": 2, "hidden_size": 128, "intermediate_size": 512}
TEXT = {
    "input_ids": tokens(1, LENGTH, most=WORDS),
    "attention_mask": np.ones((1, LENGTH), np.int64),
}
NETWORKS: dict[str, tuple[Callable[[], Any], str, Mapping[str, Any]]] = {
    "BERT": (
        lambda: tr.BertForSequenceClassification(tr.BertConfig(vocab_size=WORDS, **SIZES)),
        "text-classification",
        {**TEXT, "token_type_ids": np.zeros((1, LENGTH), np.int64)},
    ),
    "DistilBERT": (
        lambda: tr.DistilBertModel(
            tr.DistilBertConfig(vocab_size=WORDS, dim=128, n_heads=4, n_layers=2, hidden_dim=512)
        ),
        "feature-extraction",
        TEXT,
    ),
    "ViT": (
        lambda: tr.ViTForImageClassification(tr.ViTConfig(image_size=96, patch_size=16, **SIZES)),
        "image-classification",
        {"pixel_values": normal(1, 3, 96, 96)},
    ),
    "ResNet": (
        lambda: tr.ResNetForImageClassification(
            tr.ResNetConfig(embedding_size=32, hidden_sizes=[32, 64], depths=[1, 1], layer_type="basic")
        ),
        "image-classification",
        {"pixel_values": normal(1, 3, 96, 96)},
    ),
    "GPT-2": (
        lambda: tr.GPT2LMHeadModel(tr.GPT2Config(vocab_size=WORDS, n_embd=128, n_head=4, n_layer=2)),
        "text-generation",
        {**TEXT, "position_ids": np.arange(LENGTH)[None]},
    ),
}


def export(name: str, path: Path) -> Mapping[str, Any]:
    make, task, feeds = NETWORKS[name]
    torch.manual_seed(0)
    model = make().eval()
    constructor = TasksManager.get_exporter_config_constructor(
        "onnx", model, task=task, library_name="transformers"
    )
    config = constructor(model.config)
    export_onnx(model, config, path, opset=17)
    return {key: value for key, value in feeds.items() if key in config.inputs}


if __name__ == "__main__":
    export_models({f"optimum, {name}": partial(export, name) for name in NETWORKS})
