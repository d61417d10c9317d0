"""From a record to what is called: compiled functions, the general path, nodes, rules for `out=`, stubs, the status table."""
