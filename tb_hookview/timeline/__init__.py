"""A trace as lanes over time, in any part and at any scale."""

from tb_hookview.timeline.timeline import Timeline

__all__ = ["Timeline"]
