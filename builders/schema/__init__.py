"""The shared schema: columns, items, and every problem that a row has."""
