"""The browser app as a Space: in, the bank's name and commit on the Hub; out, the files of a gradio Space.

The commit stands in the app, so that a Space shows what it was published with, and starts anew when that changes.
"""

from __future__ import annotations

from importlib.metadata import version

GRADIO = "6.31.0"
"""The version that the app is tested with."""
PYTHON = "3.11"
APP = '''\
"""Shows the bank {repo_id}."""

from pairbank.cards.browser.app import build_app

app = build_app({repo_id!r}, revision={revision!r})

if __name__ == "__main__":
    app.launch()
'''


def space_files(repo_id: str, revision: str) -> dict[str, bytes]:
    """Return the files of the Space that browses a bank, by path.

    Args:
        repo_id: the bank's dataset on the Hub.
        revision: its commit to show.
    """
    from huggingface_hub import SpaceCardData

    head = SpaceCardData(
        title=repo_id.rpartition("/")[2],
        emoji="📚",
        colorFrom="indigo",
        colorTo="green",
        sdk="gradio",
        sdk_version=GRADIO,
        python_version=PYTHON,
        app_file="app.py",
        datasets=[repo_id],
        tags=["pairbank", "linguistics"],
        pinned=False,
    )
    page = (
        f"Browses the items, scores and results of the dataset `{repo_id}`. Where that is private, the Space needs a "
        "secret `HF_TOKEN` that may read it (Settings, Variables and secrets).\n"
    )
    readme = f"---\n{head.to_yaml()}\n---\n\n{page}"
    return {
        "README.md": readme.encode(),
        "app.py": APP.format(repo_id=repo_id, revision=revision).encode(),
        "requirements.txt": f"pairbank[browse]=={version('pairbank')}\n".encode(),
    }
