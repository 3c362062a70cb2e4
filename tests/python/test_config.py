"""Configuration files."""

from pathlib import Path
from typing import Any

import pytest

import asio_infer as ai
from asio_infer.config import Config, ConfigError, load_config

WHOLE = """\
[server]
host = "::1"
port = 9000
io_threads = 2
compress_binary = true
log = { level = "warning", format = "json", access = true }

[server.limits]
max_body_bytes = 1_000_000
idle_timeout_s = 5

[[model]]
name = "resnet"
path = "models/resnet50.onnx"
version = 3
instances = 2
providers = ["CUDAExecutionProvider", ["CPUExecutionProvider", { arena = 1 }]]
warmup = false

[model.batching]
max_size = 8
max_delay_s = 0.001

[model.queue]
max_size = 100
timeout_s = 0.2

[model.session_options]
intra_op_num_threads = 1
"session.intra_op.allow_spinning" = false

[[model]]
path = "/absolute/b.onnx"
batching = false

[[model]]
name = "echo"
identity = { datatype = "INT64", shape = [-1, 2] }
batching = "auto"
"""


def load(text: str, tmp_path: Path) -> Config:
    file = tmp_path / "server.toml"
    file.write_text(text, encoding="utf-8")
    return load_config(file)


def test_a_whole_file(tmp_path: Path) -> None:
    config = load(WHOLE, tmp_path)
    assert config.server == {
        "host": "::1",
        "port": 9000,
        "io_threads": 2,
        "compress_binary": True,
        "log": ai.Log(level="warning", format="json", access=True),
        "limits": ai.Limits(max_body_bytes=1_000_000, idle_timeout_s=5),
    }
    resnet, b, echo = config.models
    assert (resnet.name, resnet.source) == ("resnet", tmp_path / "models/resnet50.onnx")
    assert resnet.options == {
        "version": 3,
        "instances": 2,
        "providers": ["CUDAExecutionProvider", ("CPUExecutionProvider", {"arena": 1})],
        "warmup": False,
        "batching": ai.Batching(max_size=8, max_delay_s=0.001),
        "queue": ai.Queue(max_size=100, timeout_s=0.2),
        "session_options": {"intra_op_num_threads": 1, "session.intra_op.allow_spinning": False},
    }
    assert (b.name, b.source, b.options) == ("b", Path("/absolute/b.onnx"), {"batching": None})
    assert echo.source == ai.Identity(datatype="INT64", shape=[-1, 2])
    assert echo.options == {"batching": ai.AUTO}


def test_an_empty_file(tmp_path: Path) -> None:
    assert load("# nothing\n", tmp_path) == Config()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[server]\nport = 1\n\n[sever]\n", 4, ["'sever'", "model, server"]),
        ("port = 1\n", 1, ["'port'"]),
        ("[server]\nhost = 'a'\nprot = 1\n", 3, ["'prot'", "[server]", "port"]),
        ("[server.limits]\nmax_body_bytes = 1\nmax_bod = 2\n", 3, ["'max_bod'", "[server.limits]"]),
        ("server.limits.max_bod = 2\n", 1, ["'max_bod'"]),
        ("[server]\nlimits = { max_body_bytes = 1, max_bod = 2 }\n", 2, ["'max_bod'"]),
        ("[server]\n[server.log]\nlevel = 'info'\nlevle = 'x'\n", 4, ["'levle'"]),
        ("[[model]]\npath = 'a'\n[[model]]\npath = 'b'\nverison = 2\n", 5, ["'verison'", "version"]),
        ("[[model]]\npath = 'a'\n[[model]]\npath = 'b'\n[model.queue]\nsize = 2\n", 6, ["'size'", "max_size"]),
        ('[[model]]\npath = """\nverison = 1\n"""\nverison = 2\n', 5, ["'verison'"]),
        ("[[model]]\npath = 'a'\n\"verison\" = 2\n", 3, ["'verison'"]),
        ("[[model]]\n# path = 'b'\nname = 'a'\n", 1, ["path"]),
        ("[[model]]\npath = 'a'\nname = 'a/b'\n", 3, ["'a/b'"]),
        ("[[model]]\npath = 'a'\ninstances = 0\n", 3, ["0"]),
        ("[[model]]\npath = 'a'\n[model.batching]\nmax_size = 0\n", 4, ["Batching.max_size", "0"]),
        ("[[model]]\npath = 'a'\nbatching = 3\n", 3, ["3"]),
        ("[[model]]\npath = 3\n", 2, ["3"]),
        ("[[model]]\npath = 'a'\nproviders = 'CPU'\n", 3, ["'CPU'"]),
        ("[server.limits]\nidle_timeout_s = -1\n", 2, ["Limits.idle_timeout_s", "-1"]),
        ("[server]\nlimits = 3\n", 2, ["3"]),
        ("model = 3\n", 1, ["[[model]]"]),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, line: int, words: list[str], tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text, tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'server.toml'}:{line}: ")
    for word in words:
        assert word in message


@pytest.mark.parametrize("content", [b"port = \n", b"\xff\n", b"a = 1\na = 2\n"])
def test_what_is_no_toml(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"bad\.toml: "):
        load_config(file)


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: No such file"):
        load_config(tmp_path / "none.toml")


def test_the_example_of_the_documentation(tmp_path: Path) -> None:
    import asio_infer.config

    documented: Any = asio_infer.config.__doc__
    text = documented.split("```toml\n")[1].split("```")[0]
    config = load(text, tmp_path)
    assert config.server["limits"].max_body_bytes == 1_000_000
    assert config.models[0].options["queue"] == ai.Queue(timeout_s=0.2)
