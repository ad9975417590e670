"""The exact, fast middle: encoded requests and a transformers model to log-probabilities in nats."""
