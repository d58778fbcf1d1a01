# /// script
# dependencies = [
#   "onnxmltools==1.16.0", "skl2onnx==1.20.0", "scikit-learn==1.7.2", "lightgbm==4.6.0", "xgboost==3.0.5",
#   "catboost==1.2.10", "onnx==1.20.1",
# ]
# ///
"""Boosted trees over 1,000 rows, exported by onnxmltools, and by CatBoost itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from catboost import CatBoostClassifier
from exports import export_models, normal
from lightgbm import LGBMClassifier, LGBMRegressor
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from xgboost import XGBClassifier, XGBRegressor

ROWS, FEATURES, FITTED, TREES = 1000, 20, 2000, 100
Convert = Callable[..., Any]
MODELS: dict[str, tuple[Callable[[], Any], Convert | None]] = {
    "LightGBM regressor": (lambda: LGBMRegressor(n_estimators=TREES, verbose=-1), convert_lightgbm),
    "LightGBM classifier": (lambda: LGBMClassifier(n_estimators=TREES, verbose=-1), convert_lightgbm),
    "XGBoost regressor": (lambda: XGBRegressor(n_estimators=TREES), convert_xgboost),
    "XGBoost classifier": (lambda: XGBClassifier(n_estimators=TREES), convert_xgboost),
    "CatBoost classifier": (
        lambda: CatBoostClassifier(iterations=TREES, verbose=False, allow_writing_files=False),
        None,
    ),
}


def export(name: str, path: Path) -> Mapping[str, Any]:
    make, convert = MODELS[name]
    x = normal(FITTED, FEATURES)
    score = x[:, 0] * x[:, 1] + x[:, 2]
    model = make().fit(x, (score > 0).astype(np.int64) if "classifier" in name else score)
    rows = normal(ROWS, FEATURES, seed=1)
    if convert is None:
        model.save_model(str(path), format="onnx")
        return {"features": rows}
    options = {"zipmap": False} if convert is convert_lightgbm and "classifier" in name else {}
    exported = convert(model, initial_types=[("X", FloatTensorType([None, FEATURES]))], **options)
    path.write_bytes(exported.SerializeToString())
    return {"X": rows}


if __name__ == "__main__":
    export_models({f"onnxmltools, {name}": partial(export, name) for name in MODELS})
