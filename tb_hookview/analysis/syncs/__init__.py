"""Calls in which the host waits for a device, with their blocking events."""
