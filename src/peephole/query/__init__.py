"""Pure reads over a capture that return typed results; every output is built on these."""
