"""Which functions of a CUDA build of torch call what makes the host wait, next to our rows."""
