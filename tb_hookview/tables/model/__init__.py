"""Parts of a table: columns, and the sources of their values."""
