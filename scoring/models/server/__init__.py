"""Models behind a server: an address and a tokenizer in, a scorer that asks over HTTP out."""
