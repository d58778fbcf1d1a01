"""What bench/quantization.py measures: models with feeds, and the tools that quantize them."""
