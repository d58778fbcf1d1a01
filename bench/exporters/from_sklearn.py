# /// script
# dependencies = ["scikit-learn==1.9.1", "skl2onnx==1.20.0", "onnx==1.20.1"]
# ///
"""Pipelines of scikit-learn over 1,000 rows, fitted to random data and exported by skl2onnx."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from exports import export_models, normal
from skl2onnx import to_onnx
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, QuantileTransformer, StandardScaler
from sklearn.svm import SVC

ROWS, FEATURES, FITTED = 1000, 20, 500


def columns() -> Any:
    return ColumnTransformer([("scaled", StandardScaler(), slice(0, 10)), ("reduced", PCA(4), slice(10, 20))])


PIPELINES: dict[str, Callable[[], Any]] = {
    "columns, logistic regression": lambda: make_pipeline(columns(), LogisticRegression()),
    "polynomials, boosted trees": lambda: make_pipeline(
        PolynomialFeatures(2), GradientBoostingRegressor(n_estimators=50, random_state=0)
    ),
    "random forest": lambda: RandomForestClassifier(100, random_state=0),
    "scaler, perceptron": lambda: make_pipeline(
        StandardScaler(), MLPClassifier((64, 64), max_iter=20, random_state=0)
    ),
    "support vectors": lambda: make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)),
    "clusters": lambda: KMeans(8, n_init=1, random_state=0),
    "quantiles": lambda: QuantileTransformer(n_quantiles=100, random_state=0),
}


def export(name: str, path: Path) -> Mapping[str, Any]:
    x = normal(FITTED, FEATURES)
    target = (x[:, 0] * x[:, 1] + x[:, 2] > 0).astype(np.int64)
    model = PIPELINES[name]().fit(x, target)
    options = {"zipmap": False} if hasattr(model, "predict_proba") else None
    path.write_bytes(to_onnx(model, x[:1], options=options).SerializeToString())
    return {"X": normal(ROWS, FEATURES, seed=1)}


if __name__ == "__main__":
    export_models({f"skl2onnx, {name}": partial(export, name) for name in PIPELINES})
