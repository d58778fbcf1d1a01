"""What the way up to the newest operator set may refuse: by operator and version, a part of the reason."""

from __future__ import annotations

REFUSALS: dict[tuple[str, int], str] = {
    ("Split", 1): "an input that is not constant",  # versions 2 to 11 have no such input
    ("Resize", 11): "no tf_half_pixel_for_nn",
    ("Resize", 13): "no tf_half_pixel_for_nn",
    ("Scan", 8): "sequence_lens are given",
    ("LabelEncoder", 2): "zeros and NaN are looked up by their bits",
}
