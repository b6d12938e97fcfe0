"""The summary of a report: the same lines and tables in a terminal, a notebook and `print`."""
