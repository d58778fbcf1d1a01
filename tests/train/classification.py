"""A small classification task and a model for it."""

from __future__ import annotations

import numpy as np

import sardonyx as sx
from sardonyx._src.ir import Array
from sardonyx.train import Adam, prepare

CLASSES, FEATURES = 3, 4


def task(examples: int = 90) -> dict[str, Array]:
    """Points around three centers, and the number of the center."""
    draw = np.random.default_rng(8)
    centers = draw.standard_normal((CLASSES, FEATURES)) * 3
    labels = np.arange(examples) % CLASSES
    points = centers[labels] + draw.standard_normal((examples, FEATURES))
    return {"x": points.astype(np.float32), "target": labels}


def classifier(dropout: bool = False) -> sx.Model:
    """Two layers with drawn weights, prepared for training; the network draws its Dropout masks from the session."""
    last = "d = Dropout(h, ratio) y = MatMul(d, v)" if dropout else "y = MatMul(h, v)"
    ratio = ", float ratio = {0.5}" if dropout else ""
    model = sx.from_text(f"""<ir_version: 10, opset_import: ["": 21]>
    net (float[N, {FEATURES}] x) => (float[N, {CLASSES}] y)
      <float[{FEATURES}, 8] w = {{{", ".join(["0"] * 8 * FEATURES)}}}, float[8, {CLASSES}] v = {{{", ".join(["0"] * 8 * CLASSES)}}}{ratio}> {{
      p = MatMul(x, w)
      h = Relu(p)
      {last}
    }}""")
    return prepare(model, optimizer=Adam(rate=0.02), initialization="he_normal")
