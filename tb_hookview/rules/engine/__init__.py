"""The engine of the rules: their type, their queries of a trace, their costs."""
