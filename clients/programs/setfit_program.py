"""setfit: a classifier of sentences, trained on a small random network, exported by setfit, and run."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from programs.transformers_models import TEXTS, save_bert

if TYPE_CHECKING:
    from setfit import SetFitModel

LABELS = [0, 1, 0]


def run() -> dict[str, object]:
    from sentence_transformers import SentenceTransformer, models  # lazy: reads the environment
    from setfit import SetFitModel
    from sklearn.linear_model import LogisticRegression

    with tempfile.TemporaryDirectory() as folder:
        save_bert(Path(folder, "bert"))
        transformer = models.Transformer(str(Path(folder, "bert")), max_seq_length=16)
        pooling = models.Pooling(transformer.get_word_embedding_dimension())
        body = SentenceTransformer(modules=[transformer, pooling], device="cpu")
        model = SetFitModel(model_body=body, model_head=LogisticRegression(C=100))
        model.fit(TEXTS, LABELS, num_epochs=1)
        answers, probabilities = run_exported(model, folder)
        np.testing.assert_array_equal(answers, model.predict(TEXTS))  # those of torch and scikit-learn
        return {"answers": answers, "probabilities": probabilities}


def run_exported(model: SetFitModel, folder: str) -> tuple[list[int], list[list[float]]]:
    """The answers of the exported model, as the documentation of setfit runs it."""
    import onnxruntime
    from setfit.exporters.onnx import export_onnx

    path = f"{folder}/model.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporters of torch and scikit-learn
        export_onnx(model.model_body, model.model_head, opset=14, output_path=path)
    inputs = model.model_body.tokenizer(TEXTS, padding=True, truncation=True, return_tensors="np")
    session = onnxruntime.InferenceSession(path)
    names = [value.name for value in session.get_inputs()]
    results = session.run(None, {name: inputs[name] for name in names})
    return results[0].tolist(), results[1].tolist()
