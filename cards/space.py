"""The browser app as a Space: in, the bank's name on the Hub; out, the files of a gradio Space that shows it."""

from __future__ import annotations

from importlib.metadata import version

GRADIO = "6.31.0"
"""The version that the app is tested with."""
PYTHON = "3.11"
APP = '''\
"""Shows the bank {repo_id}."""

from pairbank.cards.browser.app import build_app

app = build_app({repo_id!r})

if __name__ == "__main__":
    app.launch()
'''


def space_files(repo_id: str) -> dict[str, bytes]:
    """Return the files of the Space that browses a bank, by path.

    Args:
        repo_id: the bank's dataset on the Hub.
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
    readme = f"---\n{head.to_yaml()}\n---\n\nBrowses the items, scores and results of the dataset `{repo_id}`.\n"
    return {
        "README.md": readme.encode(),
        "app.py": APP.format(repo_id=repo_id).encode(),
        "requirements.txt": f"pairbank[browse]=={version('pairbank')}\n".encode(),
    }
