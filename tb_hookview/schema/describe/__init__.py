"""Types as names, units and definitions, and as JSON Schema."""
