"""Models behind a server: an address and a tokenizer in, a scorer that asks over HTTP out.

In: an OpenAI-compatible server. Out: what it can be asked: log-probabilities of texts, or answers of a chat.
May use: api, engine, and of models what cuts texts into tokens, and generation.
"""
