"""ONNX files that hold a model with its averages over missing values."""

from __future__ import annotations

from noiseproof.serving.onnx.exporting import to_onnx

__all__ = ["to_onnx"]
