"""What models are asked: prompts as data (`*.toml`), and the records and checks that read them."""
