"""Which CUDA kernels make the host wait, and when."""
