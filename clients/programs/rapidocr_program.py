"""rapidocr: the text of a page, with boxes and scores."""

from __future__ import annotations

from rapidocr import RapidOCR

from programs.pages import draw_page


def run() -> dict[str, object]:
    answer = RapidOCR()(draw_page())
    return {"texts": list(answer.txts), "scores": list(answer.scores), "boxes": answer.boxes.tolist()}
