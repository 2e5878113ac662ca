"""Training under Hugging Face, Lightning and Accelerate, with a leak and without: what TensorBoard and MLflow show of it.

Minutes each. Skipped by name where the frameworks are not installed:

    pip install torch transformers accelerate lightning tensorboard mlflow-skinny pytest
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Tuple

import pytest

HERE = Path(__file__).resolve().parent
LEAK = 500_000
SAMPLES = {"hf": 4000, "lightning": 64_000, "accelerate": 80_000}
NEEDS = {"hf": "transformers", "lightning": "lightning", "accelerate": "accelerate"}
Points = List[Tuple[int, float]]


def train(framework: str, folder: Path, program: str, leak: int) -> str:
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE.parent),
        "PLIMSOLL_PROGRAM": program,
        "OMP_NUM_THREADS": "1",
        "MLFLOW_ALLOW_FILE_STORE": "true",
        "MLFLOW_TRACKING_URI": f"file:{folder}/mlruns",
        "TENSORBOARD_LOGGING_DIR": f"{folder}/runs",
    }
    script = HERE / "frameworks" / f"{framework}_run.py"
    done = subprocess.run(
        [sys.executable, str(script), str(folder), str(SAMPLES[framework]), str(leak)],
        env=environment, cwd=folder, capture_output=True, text=True, timeout=1500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stderr


def tensorboard(folder: Path) -> Tuple[Dict[str, Points], str]:
    """Every scalar that TensorBoard reads back, by name without the prefix a framework puts before it; and the text."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    scalars: Dict[str, Points] = {}
    text = ""
    for file in folder.rglob("events.out.tfevents.*"):
        events = EventAccumulator(str(file), size_guidance={"tensors": 0, "scalars": 0})
        events.Reload()
        for tag in events.Tags()["scalars"]:
            if "plimsoll/" in tag:
                name = tag[tag.index("plimsoll/") :]
                scalars.setdefault(name, []).extend((e.step, e.value) for e in events.Scalars(tag))
        for tag in events.Tags()["tensors"]:
            if "plimsoll/verdict" in tag:
                text += "".join(e.tensor_proto.string_val[0].decode() for e in events.Tensors(tag))
    return {name: sorted(points) for name, points in scalars.items()}, text


def mlflow_store(folder: Path) -> Tuple[Dict[str, float], str]:
    """The last value of each metric in the file store, and the tag."""
    metrics: Dict[str, float] = {}
    for file in (folder / "mlruns").rglob("plimsoll/*"):
        if "metrics" in file.parts:
            metrics[f"plimsoll/{file.name}"] = float(file.read_text().strip().splitlines()[-1].split()[1])
    tags = [file.read_text() for file in (folder / "mlruns").rglob("plimsoll/verdict") if "tags" in file.parts]
    return metrics, "".join(tags)


@pytest.mark.parametrize("framework", list(NEEDS))
def test_a_leak_is_seen_where_people_look(framework: str, tmp_path: Path, program: str) -> None:
    for package in (NEEDS[framework], "torch", "tensorboard", "mlflow"):
        pytest.importorskip(package)
    said = train(framework, tmp_path, program, LEAK)
    scalars, text = tensorboard(tmp_path)
    metrics, tag = mlflow_store(tmp_path)
    assert "Leak" in said
    line = f"{framework}_run.py:{line_of_the_leak(framework)}"
    assert line in text and line in tag, (text, tag, said[-3000:])
    for shown in ({name: points[-1][1] for name, points in scalars.items()}, metrics):
        assert shown["plimsoll/leak"] == 1, shown
        assert abs(shown["plimsoll/growth_mb_per_step"] * 1e6 / LEAK - 1) < 0.1, shown
        assert shown["plimsoll/memory_mb"] > 500 and shown["plimsoll/minutes_to_limit"] > 0, shown
    assert len(scalars["plimsoll/memory_mb"]) > 20


@pytest.mark.parametrize("framework", list(NEEDS))
def test_no_alarm_without_a_leak(framework: str, tmp_path: Path, program: str) -> None:
    for package in (NEEDS[framework], "torch", "tensorboard", "mlflow"):
        pytest.importorskip(package)
    said = train(framework, tmp_path, program, 0)
    scalars, text = tensorboard(tmp_path)
    assert "Leak" not in said, said[-3000:]
    assert text == "" and mlflow_store(tmp_path)[1] == ""
    assert all(value == 0 for _, value in scalars["plimsoll/leak"]), scalars["plimsoll/leak"]


def line_of_the_leak(framework: str) -> int:
    lines = (HERE / "frameworks" / f"{framework}_run.py").read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if "# the leak" in line)
