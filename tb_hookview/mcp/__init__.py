"""A server of the Model Context Protocol: what traces say, for programs that ask in words.

Must not be here: anything that writes; addresses of stores.
"""
