"""The tables at event level, computed from an analysis as arrays, in a function of its name."""
