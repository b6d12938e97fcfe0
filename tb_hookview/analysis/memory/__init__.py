"""What torch's allocators gave out: blocks, their classes, live bytes over time, peaks."""
