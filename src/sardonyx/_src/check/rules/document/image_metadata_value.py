"""SX022 image-metadata-value: a metadata key for images has a value that is not allowed.

Clause: MetadataProps.md, "Image Category Definition"
Catalogue: MET-03
Why:    readers prepare images according to these keys, and do not know other values.
Bad:    <metadata_props: ["Image.BitmapPixelFormat": "Rgb9"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <metadata_props: ["Image.BitmapPixelFormat": "rgb8"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.record import brief

VALUES = {  # keys and values are compared without regard to case
    "image.bitmappixelformat": "Gray8 Rgb8 Bgr8 Rgba8 Bgra8",
    "image.colorspacegamma": "Linear SRGB",
    "image.nominalpixelrange": "NominalRange_0_255 Normalized_0_1 Normalized_1_1 NominalRange_16_235",
}


@rule("SX022", "warning", visits=ModelProto, group="strict")
def check_image_metadata_value(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    for i, entry in enumerate(model.metadata_props):
        allowed = VALUES.get(entry.key.lower(), "")
        if allowed and entry.value.lower() not in allowed.lower().split():
            message = (
                f"{brief(entry.key)} must be one of {', '.join(allowed.split())}; got {brief(entry.value)}"
            )
            yield Finding(f"metadata_props[{i}].value", message, "write one of these values")
