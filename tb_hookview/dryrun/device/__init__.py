"""A CUDA device made of host memory."""
