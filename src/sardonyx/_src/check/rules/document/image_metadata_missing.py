"""SX023 image-metadata-missing: an input is an image, but the model does not state how its pixels are stored.

Clause: MetadataProps.md, "Image Category Definition"; TypeDenotation.md
Catalogue: MET-04
Why:    the denotation IMAGE means that the input is a picture; without format, gamma and range, readers must guess.
Bad:    g (float[1, 3, 8, 8] @{denotation: "IMAGE"} x) => (float[1, 3, 8, 8] y) { y = Abs(x) }
Good:   <metadata_props: ["Image.BitmapPixelFormat": "Rgb8", "Image.ColorSpaceGamma": "SRGB",
         "Image.NominalPixelRange": "NominalRange_0_255"]>
        g (float[1, 3, 8, 8] @{denotation: "IMAGE"} x) => (float[1, 3, 8, 8] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import ModelProto

IMAGE_KEYS = ("Image.BitmapPixelFormat", "Image.ColorSpaceGamma", "Image.NominalPixelRange")


@rule("SX023", "warning", visits=ModelProto, group="strict")
def check_image_metadata_missing(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    inputs = model.graph.input if model.graph is not None else []
    image = next(
        (i for i, v in enumerate(inputs) if v.type is not None and v.type.denotation == "IMAGE"), None
    )
    keys = {entry.key.lower() for entry in model.metadata_props}
    missing = [key for key in IMAGE_KEYS if key.lower() not in keys]
    if image is not None and missing:
        message = f"the input has the denotation IMAGE, but metadata_props lacks {', '.join(missing)}"
        yield Finding(f"graph.input[{image}]", message, "add the keys to the model's metadata_props")
