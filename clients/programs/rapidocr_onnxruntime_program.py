"""rapidocr-onnxruntime: the text of a page, with boxes and scores."""

from __future__ import annotations

from rapidocr_onnxruntime import RapidOCR

from programs.pages import draw_page


def run() -> dict[str, object]:
    answer, _ = RapidOCR()(draw_page())
    boxes, texts, scores = zip(*answer, strict=True)
    return {"texts": list(texts), "scores": [float(score) for score in scores], "boxes": list(boxes)}
