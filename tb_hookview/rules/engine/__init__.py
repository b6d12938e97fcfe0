"""What a rule is, what it may ask of a trace, and how costs are charged."""
