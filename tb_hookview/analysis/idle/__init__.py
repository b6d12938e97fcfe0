"""Idle time of the devices, cut by cause."""
