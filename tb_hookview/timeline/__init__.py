"""A trace as lanes over time, for a page that shows any part of it at any scale."""

from tb_hookview.timeline.timeline import Timeline

__all__ = ["Timeline"]
