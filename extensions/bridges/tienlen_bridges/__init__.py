"""The games as other libraries want them: OpenSpiel, JAX, PufferLib, ONNX."""
