"""What a coding agent may ask (`peephole mcp`): a table of tools over the commands, and the protocol under them."""
