"""How a comparison is printed: for people, as JSON, as Markdown."""
