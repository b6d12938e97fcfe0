"""Calls of compiled graphs: the modules that their kernels serve, by the recorder's map."""
