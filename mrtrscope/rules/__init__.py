"""The rules: one small function each, one module per page of the specification. See `registry`."""
