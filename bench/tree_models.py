"""Ensembles of trees for `trees.py`, trained by the libraries of the group bench-trees, and cached in .bench/trees.

Training data are random, with 64 features; targets are a smooth function of some of them with noise.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measure import BUILD

FOLDER = BUILD / "trees"
FEATURES, SAMPLES, FOREST_SAMPLES = 64, 20_000, 4_000
LIBRARIES = ("sklearn", "skl2onnx", "onnxmltools", "lightgbm", "xgboost", "catboost", "joblib")
Rows = NDArray[np.float32]
Predict = Callable[[Rows], object]


def has_libraries() -> bool:
    """Whether the group bench-trees is installed."""
    return all(importlib.util.find_spec(name) is not None for name in LIBRARIES)


def training_data(samples: int = SAMPLES) -> tuple[Rows, Rows]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((SAMPLES, FEATURES)).astype(np.float32)
    y = x[:, 0] * x[:, 1] + np.sin(3 * x[:, 2]) + 0.3 * x[:, 3:10].sum(axis=1)
    y = (y + rng.standard_normal(SAMPLES) / 2).astype(np.float32)
    return x[:samples], y[:samples]


def random_rows(count: int) -> Rows:
    return np.random.default_rng(1).standard_normal((count, FEATURES)).astype(np.float32)


@dataclass(frozen=True)
class TreeModel:
    """train: the library's model.  export: writes a library's model as an ONNX file.

    predict: of the library's model on a number of threads.  native_file: the file name of the model in its library's
    own format, where lleaves reads it.
    """

    name: str
    train: Callable[[], Any]
    export: Callable[[Any, Path], None]
    predict: Callable[[Any, int], Predict]
    native_file: str = ""

    @property
    def path(self) -> Path:
        """The ONNX file, which is made if it does not exist."""
        path = FOLDER / f"{self.name}.onnx"
        if not path.exists():
            self.make(path)
        return path

    def make(self, path: Path) -> None:
        import joblib

        FOLDER.mkdir(parents=True, exist_ok=True)
        model = self.train()
        joblib.dump(model, path.with_suffix(".joblib"))
        if self.native_file:
            model.booster_.save_model(FOLDER / self.native_file)
        self.export(model, path)

    def library(self, threads: int) -> Predict:
        """The prediction of the library that trained the model."""
        import joblib

        return self.predict(joblib.load(self.path.with_suffix(".joblib")), threads)


def random_forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    x, y = training_data(FOREST_SAMPLES)
    return RandomForestClassifier(200, random_state=0, n_jobs=2).fit(x, y > 0)


def gradient_boosting() -> Any:
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(n_estimators=100, random_state=0).fit(*training_data(FOREST_SAMPLES))


def lightgbm() -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_estimators=500, n_jobs=2, verbose=-1).fit(*training_data())


def xgboost() -> Any:
    from xgboost import XGBRegressor

    return XGBRegressor(n_estimators=500, n_jobs=2).fit(*training_data())


def catboost() -> Any:
    from catboost import CatBoostRegressor

    return CatBoostRegressor(iterations=500, verbose=0, thread_count=2, allow_writing_files=False).fit(
        *training_data()
    )


def export_sklearn(model: Any, path: Path) -> None:
    from skl2onnx import to_onnx

    options = {"zipmap": False} if hasattr(model, "predict_proba") else None
    path.write_bytes(to_onnx(model, random_rows(1), options=options).SerializeToString())


def export_boosted(converter: str) -> Callable[[Any, Path], None]:
    def export(model: Any, path: Path) -> None:
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType

        inputs = [("X", FloatTensorType([None, FEATURES]))]
        path.write_bytes(getattr(onnxmltools, converter)(model, initial_types=inputs).SerializeToString())

    return export


def predict_sklearn(model: Any, threads: int) -> Predict:
    if hasattr(model, "n_jobs"):
        model.n_jobs = threads
    predict: Predict = getattr(model, "predict_proba", model.predict)
    return predict


def predict_xgboost(model: Any, threads: int) -> Predict:
    model.set_params(n_jobs=threads)
    booster = model.get_booster()
    booster.set_param({"nthread": threads})
    predict: Predict = booster.inplace_predict
    return predict


TREE_MODELS: Mapping[str, TreeModel] = {
    model.name: model
    for model in (
        TreeModel("forest_200", random_forest, export_sklearn, predict_sklearn),
        TreeModel("gradient_boosting_100", gradient_boosting, export_sklearn, predict_sklearn),
        TreeModel(
            "lightgbm_500",
            lightgbm,
            export_boosted("convert_lightgbm"),
            lambda model, threads: lambda x: model.booster_.predict(x, num_threads=threads),
            "lightgbm_500.txt",
        ),
        TreeModel("xgboost_500", xgboost, export_boosted("convert_xgboost"), predict_xgboost),
        TreeModel(
            "catboost_500",
            catboost,
            lambda model, path: model.save_model(path, format="onnx"),
            lambda model, threads: lambda x: model.predict(x, thread_count=threads),
        ),
    )
}
