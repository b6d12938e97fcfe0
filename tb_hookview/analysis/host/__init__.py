"""Host rows: their nesting, roles, runtime calls and Python stacks."""
