"""Recording a JAX program: XLA is asked for its dumps. Standard library only."""
