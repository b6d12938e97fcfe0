"""What the benchmarks have in common: files, machine, processes, tables, the page they write."""
