"""The page of `server` in a cell of a notebook, as docs/how-to/notebooks.md describes it.

IPython and `google.colab` are imported by those who run in them; neither is a dependency.

Must not be here: anything that reads a trace, a server on another address than 127.0.0.1.
"""

from tb_hookview.notebook.display import show

__all__ = ["show"]
