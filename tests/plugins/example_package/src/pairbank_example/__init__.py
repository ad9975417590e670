"""A package that offers pairbank a corpus, a prompt, an analysis and a back end."""

from importlib import resources

PROMPTS = resources.files(__name__) / "prompts.toml"
