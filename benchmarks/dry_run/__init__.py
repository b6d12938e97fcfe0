"""The dry run against models of public libraries, recordings of GPUs, and the CPU's own speed."""
