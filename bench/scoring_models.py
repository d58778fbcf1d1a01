"""The models of `bench/scoring.py`, with random weights, and what they are called in its table."""

from __future__ import annotations

import numpy as np

import sardonyx as sx

FEATURES, CATEGORIES, TREES, DEPTH = 20, 30, 500, 6
NAMES = {
    "forest": f"forest of {TREES} trees of depth {DEPTH}, {FEATURES} floats",
    "mlp": f"MLP {FEATURES}-64-64-3, {FEATURES} floats",
    "logistic": f"logistic regression, 6 floats, 2 integers, {CATEGORIES} texts",
}


def forest(rng: np.random.Generator) -> sx.Model:
    """A classifier of complete trees with random thresholds, in the form in which skl2onnx writes two classes."""
    inner, total = 2**DEPTH - 1, 2 ** (DEPTH + 1) - 1
    ids = np.arange(total)
    is_inner, leaves = ids < inner, ids[inner:]
    every = np.tile(is_inner, TREES)
    weights = rng.random(len(leaves) * TREES)
    b = sx.Builder(opset=17, imports={"ai.onnx.ml": 3})
    label, probabilities = b.domain("ai.onnx.ml").TreeEnsembleClassifier(
        b.input("x", "float32", ["N", FEATURES]),
        nodes_treeids=np.repeat(np.arange(TREES), total).tolist(),
        nodes_nodeids=np.tile(ids, TREES).tolist(),
        nodes_featureids=np.where(every, rng.integers(0, FEATURES, every.size), 0).tolist(),
        nodes_values=np.where(every, rng.normal(size=every.size), 0).tolist(),
        nodes_modes=np.tile(np.where(is_inner, "BRANCH_LEQ", "LEAF"), TREES).tolist(),
        nodes_truenodeids=np.tile(np.where(is_inner, 2 * ids + 1, 0), TREES).tolist(),
        nodes_falsenodeids=np.tile(np.where(is_inner, 2 * ids + 2, 0), TREES).tolist(),
        class_treeids=np.repeat(np.arange(TREES), len(leaves)).tolist(),
        class_nodeids=np.tile(leaves, TREES).tolist(),
        class_ids=[0] * len(weights),
        class_weights=(weights / TREES).tolist(),
        classlabels_int64s=[0, 1],
        post_transform="NONE",
    )
    return b.model(label=label, probabilities=probabilities)


def mlp(rng: np.random.Generator) -> sx.Model:
    b = sx.Builder(opset=17)
    hidden = b.input("x", "float32", ["N", FEATURES])
    for rows, columns in ((FEATURES, 64), (64, 64)):
        weights = rng.normal(0, rows**-0.5, (rows, columns)).astype(np.float32)
        hidden = b.Relu(b.Gemm(hidden, weights, rng.normal(size=columns).astype(np.float32)))
    scores = b.Gemm(hidden, rng.normal(0, 0.1, (64, 3)).astype(np.float32))
    return b.model(probabilities=b.Softmax(scores, axis=1))


def logistic(rng: np.random.Generator) -> sx.Model:
    """The graph that skl2onnx writes for a scaler, a one-hot encoder and a logistic regression."""
    b = sx.Builder(opset=17, imports={"ai.onnx.ml": 3})
    ml = b.domain("ai.onnx.ml")
    floats = [b.input(f"f{i}", "float32", ["N", 1]) for i in range(6)]
    integers = [b.Cast(b.input(f"i{i}", "int64", ["N", 1]), to=1) for i in range(2)]
    scaled = ml.Scaler(b.Concat(*floats, *integers, axis=1), offset=[0.5] * 8, scale=[0.9] * 8)
    texts = [f"category {i}" for i in range(CATEGORIES)]
    encoded = ml.OneHotEncoder(b.input("c", "string", ["N", 1]), cats_strings=texts, zeros=1)
    features = b.Concat(scaled, b.Reshape(encoded, [-1, CATEGORIES]), axis=1)
    weights = rng.normal(0, 0.3, 8 + CATEGORIES)
    label, scores = ml.LinearClassifier(
        features,
        coefficients=np.concatenate([-weights, weights]).tolist(),
        intercepts=[-0.1, 0.1],
        classlabels_ints=[0, 1],
        multi_class=0,
        post_transform="LOGISTIC",
    )
    return b.model(label=label, probabilities=ml.Normalizer(scores, norm="L1"))
