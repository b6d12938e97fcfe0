"""The official client, of a server in this process or of the command as one of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import TextContent, Tool

from tb_hookview.mcp.server import RootFolder, make

Question = tuple[str, dict[str, Any]]


class Answer(NamedTuple):
    is_error: bool
    text: str


class Said(NamedTuple):
    tools: list[Tool]
    answers: list[Answer]


def ask(root: Path, *questions: Question) -> Said:
    """List the tools of a server in this process, and put questions to it, one after the other."""
    return anyio.run(_ask, make(RootFolder(str(root))), questions)


def ask_process(root: Path, *questions: Question) -> Said:
    """The same of `hookview mcp`, over its standard input and output."""
    arguments = ["-m", "tb_hookview.cli", "mcp", "--root", str(root)]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    return anyio.run(_ask, stdio_client(server), questions)


async def _ask(server: Any, questions: tuple[Question, ...]) -> Said:
    async with Client(server, mode="legacy") as client:
        tools = (await client.list_tools()).tools
        return Said(tools, [await _one(client, *question) for question in questions])


async def _one(client: Client, tool: str, arguments: dict[str, Any]) -> Answer:
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return Answer(bool(result.is_error), content.text)
