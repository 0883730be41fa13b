"""Pictures: PNG, SVG, PDF."""
