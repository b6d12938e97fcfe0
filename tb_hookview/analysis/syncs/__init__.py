"""Calls in which the host waits for a device, and the device event each waited for."""
