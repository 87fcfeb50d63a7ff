"""cli: one module per verb, loaded on use. Nobody imports this room."""
