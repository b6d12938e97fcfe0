"""Every answer as types, the only home of their shapes.

Producers return these structs; the OpenAPI description and the page's types follow from them. A
field's unit is its type (`Us`, `Count`, `Bytes`, ...) and its definition the docstring below it.
After a change run `make schema`: it writes `docs/openapi.json`, the tables of
`docs/reference/definitions.md`, and the page's `frontend/src/api/schema.ts` (types) and `fields.ts`
(units and definitions). Tests fail where one of them is not up to date.

Must not be here: computation; imports of anything but msgspec.
"""

from __future__ import annotations

from tb_hookview.schema.attribution import *
from tb_hookview.schema.comparison import *
from tb_hookview.schema.findings import *
from tb_hookview.schema.history import *
from tb_hookview.schema.host import *
from tb_hookview.schema.kernels import *
from tb_hookview.schema.memory import *
from tb_hookview.schema.ranks import *
from tb_hookview.schema.report import *
from tb_hookview.schema.runs import *
from tb_hookview.schema.steps import *
from tb_hookview.schema.tables import *
from tb_hookview.schema.terms import *
from tb_hookview.schema.timeline import *
