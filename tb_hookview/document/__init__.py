"""What is read: lines and tables, written for a terminal, as plain text, Markdown or HTML.

Whoever has something to say makes a `Document`; how it looks is decided here alone. All text may
come from a trace: each form writes it so that it is text and nothing else.
"""
