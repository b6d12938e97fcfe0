"""A server of the Model Context Protocol: what traces say, for programs that ask in words."""
