"""FLOPs and bytes of operators by their shapes, and the peaks of devices."""
