"""Interfaces of the package onnx."""
