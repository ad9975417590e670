"""One claim under every defensible choice that scored tables hold."""
