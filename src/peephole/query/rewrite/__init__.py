"""Replaying a pass: nodes, substitution, identities, differences. `peephole.query.rewrites` is the way in."""
