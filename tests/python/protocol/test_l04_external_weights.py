"""Weights in a file of their own are found beside the model, wherever the process stands, and nowhere else."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import asio_infer as ai

sys.path.insert(0, str(Path(__file__).parents[2] / "models"))
import graphs

REFUSAL = (ai.InvalidRequest, ai.ModelError)
X = {"X": np.zeros((1, 4096), np.float32)}


@pytest.fixture
def server(models: Path) -> Iterator[ai.Server]:
    """A server with one good model, which must go on serving."""
    with ai.Server(port=0, log=ai.Log(level="off")) as server:
        server.register("add", models / "add.onnx")
        yield server
        one = np.ones((1, 4), np.float32)
        assert server.infer("add", {"A": one, "B": one})["Y"].tolist() == [[2, 2, 2, 2]]
        assert [model.name for model in server.models() if model.name != "add"] in ([], ["ext"])


def serves(server: ai.Server, path: Path | str) -> None:
    server.register("ext", path)
    assert server.infer("ext", X)["Y"].tolist() == [list(range(4096))]


def refuses(server: ai.Server, path: Path, match: str | None = None) -> None:
    with pytest.raises(REFUSAL, match=match) as caught:
        server.register("ext", path)
    assert str(path.name) in str(caught.value)
    with pytest.raises(ai.NotFound):
        server.infer("ext", X)


@pytest.fixture
def folder(models: Path, tmp_path: Path) -> Path:
    """A folder of its own, deep in another, with the model and its weights."""
    folder = tmp_path / "above" / "folder"
    folder.mkdir(parents=True)
    for name in ("ext.onnx", "w.bin"):
        shutil.copy(models / name, folder / name)
    return folder


def test_in_place(server: ai.Server, folder: Path) -> None:
    serves(server, folder / "ext.onnx")


def test_from_any_working_directory(
    server: ai.Server, folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    serves(server, folder / "ext.onnx")


def test_a_relative_path(server: ai.Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    serves(server, "ext.onnx")


def test_a_path_with_blanks_and_letters(server: ai.Server, folder: Path) -> None:
    other = folder / "with blanks" / "é ü 日本"
    other.mkdir(parents=True)
    for name in ("ext.onnx", "w.bin"):
        shutil.move(folder / name, other / name)
    serves(server, other / "ext.onnx")


def test_a_file_of_the_same_name_where_the_process_stands(
    server: ai.Server, folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights beside the model count, not those in the working directory."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "w.bin").write_bytes(b"\0" * 16384)
    monkeypatch.chdir(elsewhere)
    serves(server, folder / "ext.onnx")


def test_no_weights(server: ai.Server, folder: Path) -> None:
    (folder / "w.bin").unlink()
    refuses(server, folder / "ext.onnx", r"w\.bin")


@pytest.mark.parametrize("size", [0, 1, 16383])
def test_weights_that_are_too_short(size: int, server: ai.Server, folder: Path) -> None:
    (folder / "w.bin").write_bytes(b"\0" * size)
    refuses(server, folder / "ext.onnx")


def test_a_folder_instead_of_weights(server: ai.Server, folder: Path) -> None:
    (folder / "w.bin").unlink()
    (folder / "w.bin").mkdir()
    refuses(server, folder / "ext.onnx")


@pytest.mark.parametrize("location", ["../w.bin", "../../w.bin", "sub/../../w.bin", "/etc/passwd", "{outside}/w.bin"])
def test_weights_outside_of_the_folder(location: str, server: ai.Server, folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    for place in (folder, folder.parent):
        (place / "w.bin").write_bytes(graphs.EXTERNAL_WEIGHT.tobytes())
    text = location.replace("{outside}", str(folder))
    (inner / "bad.onnx").write_bytes(graphs.external(text).SerializeToString())
    refuses(server, inner / "bad.onnx")


def test_weights_in_a_folder_below(server: ai.Server, folder: Path) -> None:
    (folder / "sub").mkdir()
    shutil.move(folder / "w.bin", folder / "sub" / "w.bin")
    (folder / "ext.onnx").write_bytes(graphs.external("sub/w.bin").SerializeToString())
    serves(server, folder / "ext.onnx")


def test_a_link_to_weights_outside(server: ai.Server, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Refused, or served right; never something else."""
    outside = tmp_path_factory.mktemp("outside") / "w.bin"
    shutil.move(folder / "w.bin", outside)
    (folder / "w.bin").symlink_to(outside)
    serves_or_refuses(server, folder / "ext.onnx")


def test_a_snapshot_of_links(server: ai.Server, folder: Path) -> None:
    """The layout of model caches: the model and its weights are links to blobs with names of their own."""
    blobs, snapshot = folder / "blobs", folder / "snapshots" / "main"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    for number, name in enumerate(("ext.onnx", "w.bin")):
        shutil.move(folder / name, blobs / f"{number}")
        (snapshot / name).symlink_to(Path("../../blobs") / f"{number}")
    serves_or_refuses(server, snapshot / "ext.onnx")


def serves_or_refuses(server: ai.Server, path: Path) -> None:
    try:
        serves(server, path)
    except REFUSAL as refusal:
        if "w.bin" not in str(refusal):
            raise


def test_from_bytes_there_is_nothing_beside(server: ai.Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes have no folder."""
    monkeypatch.chdir(folder.parent)
    with pytest.raises(REFUSAL):
        server.register("ext", (folder / "ext.onnx").read_bytes())
