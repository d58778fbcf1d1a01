"""piper-tts: diacritics of Arabic and Hebrew text, by the networks that its wheel holds."""

from __future__ import annotations

from piper.hebrew import NakdimonDiacritizer
from piper.tashkeel import TashkeelDiacritizer

ARABIC = "مرحبا بالعالم هذا نص عربي قصير لاختبار التشكيل"
HEBREW = "שלום עולם זה משפט קצר בעברית"


def run() -> dict[str, object]:
    return {"arabic": TashkeelDiacritizer()(ARABIC), "hebrew": NakdimonDiacritizer()(HEBREW)}
