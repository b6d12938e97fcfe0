"""Tables that convert to data frames."""
