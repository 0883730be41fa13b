"""The engine that replays a pass: nodes, substitution, identities, differences. It knows no compiler."""
