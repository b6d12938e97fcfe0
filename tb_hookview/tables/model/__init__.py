"""What a table is made of: columns, and where their values come from."""
