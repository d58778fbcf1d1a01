"""Programs that use clients of onnxruntime as their authors document them; each returns what the client answers."""
