"""The Hub emulator against the real clients: what the other tests of publishing stand on."""

from functools import partial
from pathlib import Path

import datasets
import pytest
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi, hf_hub_download
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

from hub_emulator import FakeHub, redirected

CARD = "---\nconfigs:\n- config_name: en\n  data_files:\n  - split: npi\n    path: data/en.parquet\n---\n# Demo\n"


def test_the_clients_create_commit_list_load_and_download(hub: FakeHub, tmp_path: Path) -> None:
    rows = [{"id": str(i), "score": None if i == 0 else i / 10} for i in range(5)]
    datasets.Dataset.from_list(rows).to_parquet(tmp_path / "en.parquet")
    api = HfApi()
    api.create_repo("acme/pairs", repo_type="dataset")
    api.create_repo("acme/pairs", repo_type="dataset", exist_ok=True)
    many = [CommitOperationAdd(f"notes/{i}.txt", b"%d" % i) for i in range(60)]
    both = [
        CommitOperationAdd("README.md", CARD.encode()),
        CommitOperationAdd("data/en.parquet", tmp_path / "en.parquet"),
    ]
    first = api.create_commit("acme/pairs", [*both, *many], commit_message="v1", repo_type="dataset")
    assert datasets.load_dataset("acme/pairs", "en", split="npi").to_list() == rows
    assert next(iter(datasets.load_dataset("acme/pairs", "en", split="npi", streaming=True)))["id"] == "0"
    listed = [e.path for e in api.list_repo_tree("acme/pairs", repo_type="dataset", recursive=True)]
    assert len([path for path in listed if path.startswith("notes/")]) == 60
    path = hf_hub_download("acme/pairs", "data/en.parquet", repo_type="dataset")
    assert Path(path).read_bytes() == (tmp_path / "en.parquet").read_bytes()
    on_first = partial(api.create_commit, "acme/pairs", repo_type="dataset", parent_commit=first.oid)
    on_first([CommitOperationDelete("notes/1.txt")], commit_message="v2")
    assert hub.repo("acme/pairs").titles == ["v2", "v1", "initial commit"]
    with pytest.raises(HfHubHTTPError, match="412"):
        on_first([CommitOperationAdd("x", b"x")], commit_message="stale")


def test_private_repositories_and_bad_tokens_are_refused_as_the_hub_does(tmp_path: Path) -> None:
    with FakeHub() as hub:
        with redirected(hub, tmp_path / "a"):
            HfApi().create_repo("acme/secret", repo_type="dataset", private=True)
        with redirected(hub, tmp_path / "b", token="hf_wrong"), pytest.raises(RepositoryNotFoundError):
            HfApi().repo_info("acme/secret", repo_type="dataset")
