"""The files of docs/cluster that are submitted: what they run, run here by a scheduler that is a small shell script.

No SLURM, Kubernetes or Hub is here. `sbatch`, `srun`, `scontrol` and `ray` are stand-ins that know the options of the
manuals and write down what they are given; the command lines that come out are then run by this process.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

import pairbank
from command_line import completed, printed_by
from pairbank.cli import app
from tiny_models import ARCHITECTURES, saved_model

FILES = Path(__file__).resolve().parents[2] / "docs" / "cluster"
ARRAY = Path(pairbank.__file__).parent / "templates" / "slurm-array.sh.j2"
SCRIPTS = [*sorted(FILES.glob("*.sh")), ARRAY]
SBATCH = (
    "job-name output gpus gpus-per-node cpus-per-task mem time requeue nodes ntasks-per-node array parsable dependency"
)
"""Options of sbatch's manual (slurm.schedmd.com/sbatch.html) that the stand-in knows."""
STAND_INS = {
    "pairbank": """printf '%s\\n' "pairbank $(printf '%q ' "$@")" >> "$LOG" """,
    "ray": """
printf '%s\\n' "ray $*" >> "$LOG"
[ "$1" != status ] || [ -e "$LOG.up" ] || { touch "$LOG.up"; exit 1; }""",
    "scontrol": """[ "$1 $2" = "show hostnames" ] && printf 'node1\\nnode2\\nnode3\\n'""",
    "srun": """
while [ $# -gt 0 ]; do case "$1" in
  --nodes=*|--ntasks=*|--exclude=*|--overlap) shift;; -w) shift 2;; -*) echo "no option $1" >&2; exit 2;; *) break;;
esac; done
[ "$1" = hostname ] && { echo "10.0.0.1 172.17.0.1"; exit; }
exec "$@" """,
    "sbatch": """
array="" parsable=""
while [ $# -gt 1 ]; do case "$1" in
  --array=*) array="${1#--array=}";; --parsable) parsable=1;; --dependency=afterok:17) ;; *) exit 2;;
esac; shift; done
first="${array%-*}" last="${array#*-}"
if [ -z "$array" ]; then bash "$1"; else for i in $(seq "$first" "$last"); do
  SLURM_ARRAY_TASK_ID="$i" SLURM_ARRAY_TASK_COUNT=$((last - first + 1)) bash "$1" >&2
done; fi
[ -z "$parsable" ] || echo 17""",
}


@pytest.fixture
def scheduler(tmp_path: Path) -> Mapping[str, str]:
    """Return an environment whose commands are the stand-ins; what they are given is written to its LOG."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in STAND_INS.items():
        (folder / name).write_text(f"#!/bin/bash\n{text.strip()}\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "LOG": str(tmp_path / "log"), "HOME": str(tmp_path)}


def run_here(argv: Sequence[str], environment: Mapping[str, str]) -> list[list[str]]:
    printed_by(argv, env=environment, timeout=300)
    return [shlex.split(line) for line in Path(environment["LOG"]).read_text().splitlines()]


def parsed(words: Sequence[str]) -> dict[str, Any]:
    group: Any = typer.main.get_command(app)
    assert words[0] == "pairbank"
    command = group.commands[words[1]]
    result: dict[str, Any] = command.make_context(words[1], list(words[2:])).params
    return result


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_bash_and_asks_slurm_for_what_there_is(script: Path) -> None:
    printed_by(["bash", "-n", script])
    asked = re.findall(r"^#SBATCH --([a-z-]+)", script.read_text(), flags=re.MULTILINE)
    assert set(asked) <= set(SBATCH.split())


@pytest.mark.ci
def test_the_array_and_the_job_after_it_write_the_bank_of_one_run(
    scheduler: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, script = tmp_path / "mine.toml", tmp_path / "slurm-array.sh"
    completed(["new", "slurm", str(script)])
    study.write_text(
        'title = "Mine"\nmethods = ["direct", "meta_question_simple"]\nn_resamples = 20\n'
        '[[corpora]]\nname = "starter"\nsubset = "minimal-pairs"\nlimit = 9\n'
    )
    model, cache = saved_model(ARCHITECTURES["qwen2"], tmp_path / "qwen2"), tmp_path / "shared"
    given = {"STUDY": str(study), "MODEL": str(model), "BANK": str(tmp_path / "bank"), "PAIRBANK_CACHE": str(cache)}
    line = re.search(r"^#   (jid=.*)$", script.read_text(), flags=re.MULTILINE)
    assert line is not None
    words = line[1].replace("1-8", "1-3").replace("slurm-array.sh", shlex.quote(str(script)))
    lines = run_here(["bash", "-c", words], {**scheduler, **given})
    assert [parsed(words)["part"] for words in lines] == ["1/3", "2/3", "3/3", None]
    banks: list[dict[str, bytes]] = []
    for where, commands in ((cache, lines), (tmp_path / "other", [lines[-1]])):
        monkeypatch.setenv("PAIRBANK_CACHE", str(where))
        for command in commands:
            out = tmp_path / f"bank{len(banks)}"
            completed([word.replace(given["BANK"], str(out)) for word in command[1:]])
        folder = tmp_path / f"bank{len(banks)}" / "scores" / "starter"
        banks.append({path.name: path.read_bytes() for path in folder.glob("*.parquet")})
    assert banks[0] == banks[1] != {}


def test_the_array_takes_a_list_of_models_and_a_folder_of_corpora(scheduler: dict[str, str], tmp_path: Path) -> None:
    """Nodes without internet: what was brought is named in the environment, and nothing is asked for without it."""
    given = {"MODELS": "five.toml", "DATA_DIR": "corpora", "PAIRBANK_CACHE": "shared", "VENV": str(tmp_path / "venv")}
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "activate").write_text('echo "activated here" >> "$LOG"\n')
    activated, line = run_here(["bash", str(ARRAY)], {**scheduler, **given})
    result = parsed(line)
    assert (activated, result["study"]) == (["activated", "here"], "introspection")
    assert [str(path) for path in result["models"]] == ["five.toml"]
    assert (str(result["data_dir"]), list(result["model"])) == ("corpora", [])
    refused = subprocess.run(["bash", str(ARRAY)], env=scheduler, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "a folder that all nodes see" in refused.stderr


def test_the_ray_job_starts_a_head_waits_for_it_and_drives_all_gpus(scheduler: dict[str, str]) -> None:
    given = {"SLURM_JOB_NODELIST": "node[1-3]", "SLURM_NNODES": "3", "MODEL": "org/m", "WORKERS": "24"}
    lines = run_here(["bash", str(FILES / "slurm-ray.sh")], {**scheduler, **given})
    starts = [words for words in lines if words[:2] == ["ray", "start"]]
    assert sorted(words[2] for words in starts) == ["--address=10.0.0.1:6379", "--head"]
    assert all({"--num-gpus=8", "--block"} <= set(words) for words in starts)
    assert [words[1] for words in lines].count("status") == 2  # the first time nobody answers
    result = parsed(next(words for words in lines if words[0] == "pairbank"))
    assert (result["ray"], result["workers"], result["gpus_per_worker"]) == ("10.0.0.1:6379", 24, 1.0)
    assert result["batch_tokens"]
    if find_spec("ray") is not None:
        from ray.scripts.scripts import cli

        for words in starts:
            options = {name for parameter in cli.commands[words[1]].params for name in parameter.opts}
            assert {word.split("=")[0] for word in words[2:]} <= options


def test_the_job_of_the_hub_is_what_its_own_client_reads(tmp_path: Path) -> None:
    real = shutil.which("hf", path=str(Path(sys.executable).parent))
    if real is None:
        pytest.skip("no hf beside this Python")
    (tmp_path / "hf").write_text(f'#!/bin/bash\nexec "{real}" "$1" "$2" "$3" --dry-run --namespace me "${{@:4}}"\n')
    (tmp_path / "hf").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "BUCKET": "me/b", "MODEL": "org/m"}
    environment |= {"HF_HUB_OFFLINE": "1", "COLUMNS": "400", "HF_HUB_DISABLE_UPDATE_CHECK": "1"}
    printed = printed_by(["bash", FILES / "hf-job.sh", "2/4"], env=environment, timeout=300)
    told = dict(line.split(maxsplit=1) for line in printed.splitlines() if line.startswith("  "))
    result = parsed([told["script"], *shlex.split(told["args"])])
    assert (result["part"], str(result["out"])) == ("2/4", "/bucket/bank")
    assert (told["with"], told["volumes"], told["env"]) == (
        "pairbank",
        "hf://buckets/me/b:/bucket",
        "PAIRBANK_CACHE=/bucket/cache",
    )


RAY_JOB = {"entrypoint", "shutdownAfterJobFinishes", "rayClusterSpec"}
RAY_CLUSTER = {"rayVersion", "authOptions", "headGroupSpec", "workerGroupSpecs"}
HEAD = {"rayStartParams", "template"}
WORKERS = {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"}
"""Fields of KubeRay's reference (docs.ray.io/en/master/kuberay/references/api.html, 1.7), as far as they are used."""


def test_the_ray_job_of_kubernetes_has_fields_that_kuberay_documents() -> None:
    job = yaml.safe_load((FILES / "kuberay.yaml").read_text())
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    spec = job["spec"]
    cluster = spec["rayClusterSpec"]
    head, [group] = cluster["headGroupSpec"], cluster["workerGroupSpecs"]
    for result, known in ((spec, RAY_JOB), (cluster, RAY_CLUSTER), (head, HEAD), (group, WORKERS)):
        assert set(result) <= known
    assert all(isinstance(value, str) for value in head["rayStartParams"].values())
    assert cluster["authOptions"] == {"mode": "token"}
    assert tuple(map(int, cluster["rayVersion"].split("."))) >= (2, 52, 0)  # from where on there are tokens
    assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    result = parsed(shlex.split(spec["entrypoint"]))
    containers = [one["template"]["spec"]["containers"][0] for one in (head, group)]
    assert containers[0]["image"] == containers[1]["image"]
    assert result["workers"] == group["replicas"] * int(containers[1]["resources"]["limits"]["nvidia.com/gpu"])
    mounted = {mount["mountPath"] for mount in containers[0]["volumeMounts"]}
    cache = next(one["value"] for one in containers[0]["env"] if one["name"] == "PAIRBANK_CACHE")
    assert {str(result["out"]).rsplit("/", 1)[0], cache.rsplit("/", 1)[0]} == mounted
