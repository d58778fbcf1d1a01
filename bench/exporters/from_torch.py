# /// script
# dependencies = ["torch==2.13.0", "onnx==1.23.2", "onnxscript==0.7.2", "numpy"]
# ///
"""Small random networks of PyTorch, exported by torch.export (dynamo) and by TorchScript."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from exports import export_models, normal, tokens
from torch import Tensor, nn
from torch.nn import functional


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        layers = [nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)]
        self.inner = nn.Sequential(*layers, nn.SiLU(), nn.Conv2d(channels, channels, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(x + self.inner(x))


def cnn() -> nn.Module:
    """x: [1, 3, 64, 64]."""
    stem = [nn.Conv2d(3, 32, 3, stride=2, padding=1), nn.Hardswish(), Residual(32), nn.MaxPool2d(2)]
    body = [nn.Conv2d(32, 64, 3, padding=1), nn.GroupNorm(8, 64), nn.GELU(), Residual(64)]
    return nn.Sequential(*stem, *body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 100))


class Block(nn.Module):
    """A transformer block, causal on request."""

    def __init__(self, size: int, heads: int, *, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.packed, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.norms = nn.ModuleList([nn.LayerNorm(size), nn.LayerNorm(size)])
        self.mlp = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, size = x.shape
        packed = self.packed(self.norms[0](x)).reshape(batch, length, 3, self.heads, size // self.heads)
        q, k, v = packed.permute(2, 0, 3, 1, 4).unbind(0)
        attended = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, size))
        return x + self.mlp(self.norms[1](x))


class Decoder(nn.Module):
    """A language model: tokens [batch, length] to scores of the next ones."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(1000, 128), nn.Embedding(256, 128)
        self.blocks = nn.Sequential(*(Block(128, 4, causal=True) for _ in range(2)))
        self.head = nn.Linear(128, 1000, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1], device=ids.device)
        return self.head(self.blocks(self.words(ids) + self.places(places)))


class Tagger(nn.Module):
    """A bidirectional LSTM over features [batch, length, 40]."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(40, 96, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(192, 12)

    def forward(self, x: Tensor) -> Tensor:
        return functional.log_softmax(self.head(self.lstm(x)[0]), dim=-1)


class Detector(nn.Module):
    """Boxes and scores of the best 100 places of an image."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU()
        )
        self.scores, self.boxes = nn.Conv2d(64, 5, 1), nn.Conv2d(64, 4, 1)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self.features(image)
        scores = self.scores(x).sigmoid().flatten(2).transpose(1, 2)
        boxes = self.boxes(x).exp().flatten(2).transpose(1, 2)
        best, classes = scores.max(-1)
        top, places = best.topk(100, dim=1)
        chosen = boxes.gather(1, places.unsqueeze(-1).expand(-1, -1, 4))
        return chosen, top, classes.gather(1, places)


NETWORKS: dict[str, tuple[Any, Any, dict[int, str]]] = {
    "cnn": (cnn, normal(1, 3, 64, 64), {}),
    "transformer block": (
        partial(Block, 128, 4, causal=False),
        normal(1, 64, 128),
        {0: "batch", 1: "length"},
    ),
    "decoder": (Decoder, tokens(1, 64, most=1000), {0: "batch", 1: "length"}),
    "lstm": (Tagger, normal(1, 50, 40), {0: "batch", 1: "length"}),
    "detector": (Detector, normal(1, 3, 128, 128), {}),
}


def export(name: str, path: Path, *, dynamo: bool) -> Mapping[str, Any]:
    make, array, axes = NETWORKS[name]
    torch.manual_seed(0)
    model, x = make().eval(), torch.from_numpy(array)
    sizes: dict[str, Any] = {}
    if dynamo:
        dims = {i: torch.export.Dim(label, max=256) for i, label in axes.items() if array.shape[i] > 1}
        sizes["dynamic_shapes"] = (dims,) if dims else None
    else:
        sizes |= {"dynamic_axes": {"x": axes} if axes else None, "opset_version": 17}
    torch.onnx.export(model, (x,), str(path), input_names=["x"], dynamo=dynamo, **sizes)
    return {"x": array}


if __name__ == "__main__":
    export_models(
        {
            f"torch {kind}, {name}": partial(export, name, dynamo=kind == "dynamo")
            for kind in ("dynamo", "TorchScript")
            for name in NETWORKS
        }
    )
