"""A runtime of MLServer that calls onnxruntime, since MLServer has none of its own.  Runs in MLServer's environment."""

from __future__ import annotations

import onnxruntime
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse


class OnnxRuntime(MLModel):  # type: ignore[misc]  # without types outside of its environment
    async def load(self) -> bool:
        options = onnxruntime.SessionOptions()
        if self.settings.parameters.extra["is_small"]:
            options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(self.settings.parameters.uri, options)
        self.names = [output.name for output in self.session.get_outputs()]
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        names = [output.name for output in payload.outputs or []] or self.names
        feeds = {item.name: NumpyCodec.decode_input(item) for item in payload.inputs}
        results = self.session.run(names, feeds)
        outputs = [NumpyCodec.encode_output(n, a) for n, a in zip(names, results, strict=True)]
        return InferenceResponse(model_name=self.name, outputs=outputs)
