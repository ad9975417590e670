"""What of texts and words the tokens are: questions to tokenizers.

In: a tokenizer, texts. Out: special and unknown tokens, the vocabulary, what a decoder starts with.
May use: api, engine.
"""
