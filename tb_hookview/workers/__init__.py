"""Functions run in processes of our own: see `pool`."""
