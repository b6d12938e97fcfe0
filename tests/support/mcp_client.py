"""The official client, and the command as a process of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import TextContent, Tool


class Answer(NamedTuple):
    is_error: bool
    text: str


class Said(NamedTuple):
    tools: list[Tool]
    answers: list[Answer]


def ask(root: Path, *questions: tuple[str, dict[str, Any]]) -> Said:
    """Start a server, list its tools, and put questions to it, one after the other."""
    return anyio.run(_ask, root, questions)


async def _ask(root: Path, questions: tuple[tuple[str, dict[str, Any]], ...]) -> Said:
    arguments = ["-m", "tb_hookview.cli", "mcp", "--root", str(root)]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        return Said(tools, [await _one(session, *question) for question in questions])


async def _one(session: ClientSession, tool: str, arguments: dict[str, Any]) -> Answer:
    result = await session.call_tool(tool, arguments)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return Answer(bool(result.is_error), content.text)
