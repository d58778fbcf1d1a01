"""Networks to measure with, made from their architectures with seeded random weights; `catalogue` lists them."""
