"""Device events: their launches, kinds, tensor cores, occupancy and queue."""
