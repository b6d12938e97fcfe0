"""Data copied on the host as a tensor is made of it. No trace shows it."""

from __future__ import annotations

from tb_hookview.rules.engine.rule import Rule

RULE = Rule(
    id="host-copy-torch-tensor",
    family="data-movement",
    title="Data may be copied on the host as a tensor is made of it",
    matches="Nothing in a trace: torch.tensor(array) copies inside one call of Python.",
    fix="torch.as_tensor and torch.from_numpy share the memory of an array whose type fits. Stack "
    "a list of arrays with numpy first. Of a tensor, torch.tensor makes a copy without its "
    "history: use detach().clone() where one is meant.",
    reference="torch.as_tensor",
    confidence="medium",
)
