"""A dry run as text, Markdown, SARIF and annotations of GitHub."""
