"""The page inside a cell of a notebook."""

from tb_hookview.notebook.display import show

__all__ = ["show"]
