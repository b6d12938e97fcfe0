"""What the recorder adds to `import torch`, in a process of its own; prints one line of JSON.

`torch` and `added` are seconds; `later` are the modules of this package that only its first use
imports, which would be a cost of the first step.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time


def main() -> None:
    """Import as a training script does, then use what was imported once."""
    start = time.perf_counter()
    import torch

    imported = time.perf_counter()
    import tb_hookview as hookview

    used = (hookview.wrap, hookview.unwrap, hookview.profile)
    added = time.perf_counter() - imported
    before = set(sys.modules)
    model = used[0](torch.nn.Linear(2, 2))
    with tempfile.TemporaryDirectory() as folder, used[2](folder) as profiler:
        model(torch.ones(1, 2)).sum().backward()
        profiler.step()
    later = sorted(name for name in set(sys.modules) - before if name.startswith("tb_hookview"))
    print(json.dumps({"torch": imported - start, "added": added, "later": later}))


if __name__ == "__main__":
    main()
