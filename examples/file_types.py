#!/usr/bin/env python3
"""What kind of file is this? A real model, served over HTTP and asked about real files.

    file_types.py                   makes some twenty files, asks about each, compares with magika's own answers
    file_types.py FILE ...          asks about your files
    file_types.py --url URL ...     asks a server that already runs: asio-infer serve magika=.../model.onnx

The model comes with the package `magika` (`pip install magika`), a detector of file types. It takes the first and the
last bytes of a file as numbers (`bytes`, INT32 [N, 2048]) and gives a score for each of some 200 types (`target_label`,
FP32 [N, types]). The server runs the model and knows nothing of files; what happens before and after the model is
below, in `FileTypes`: it is what magika's own library does in-process. At the end both must say the same of every file.
Nobody asks the model about a file with fewer than 8 bytes of content: that is `empty`, `txt` or `unknown`.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import http.client
import json
import math
import os
import py_compile
import sqlite3
import struct
import sys
import tarfile
import tempfile
import urllib.parse
import wave
import xml.etree.ElementTree as ET
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

# ---- The server ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def serve(name: str, model: Path) -> Iterator[str]:
    """Serve the model under that name on a free port; gives the URL, stops the server at the end."""
    import asio_infer as ai

    server = ai.Server(port=0)
    server.register(name, model)
    with server:
        yield server.url


# ---- The client: Open Inference Protocol v2 over plain HTTP ---------------------------------------------------------


class Client:
    """Asks one model of a server, over one connection that is kept open."""

    def __init__(self, url: str, model: str) -> None:
        self.url = url
        parts = urllib.parse.urlsplit(url)
        secure = parts.scheme == "https"
        connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self.connection = connect(parts.netloc, timeout=60)
        self.path = f"{parts.path.rstrip('/')}/v2/models/{urllib.parse.quote(model, safe='')}/infer"

    def _post(self, body: bytes, headers: dict[str, str]) -> tuple[bytes, http.client.HTTPMessage]:
        try:
            self.connection.request("POST", self.path, body, headers)
            answer = self.connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise RuntimeError(f"{self.url} does not answer: {error}") from error
        if answer.status != 200:
            raise RuntimeError(f"the server answered {answer.status}: {content.decode(errors='replace')}")
        return content, answer.headers

    def ask_json(self, tokens: np.ndarray) -> np.ndarray:
        """Numbers written out in JSON. `tokens` INT32 [1, 2048] -> scores FP32 [1, types]."""
        question = {
            "inputs": [{"name": "bytes", "datatype": "INT32", "shape": list(tokens.shape), "data": tokens.tolist()}],
            "outputs": [{"name": "target_label"}],
        }
        content, _ = self._post(json.dumps(question).encode(), {"Content-Type": "application/json"})
        output = json.loads(content)["outputs"][0]
        return np.array(output["data"], np.float32).reshape(output["shape"])

    def ask_binary(self, tokens: np.ndarray) -> np.ndarray:
        """A short JSON header, then the bytes of the tensor. `tokens` INT32 [1, 2048] -> scores FP32 [1, types]."""
        tensor = tokens.astype("<i4").tobytes()
        parameters = {"binary_data_size": len(tensor)}
        question = {
            "inputs": [
                {"name": "bytes", "datatype": "INT32", "shape": list(tokens.shape), "parameters": parameters},
            ],
            "outputs": [{"name": "target_label", "parameters": {"binary_data": True}}],
        }
        header = json.dumps(question).encode()
        content, headers = self._post(
            header + tensor,
            {"Content-Type": "application/octet-stream", "Inference-Header-Content-Length": str(len(header))},
        )
        split = int(headers["Inference-Header-Content-Length"])
        output = json.loads(content[:split])["outputs"][0]
        size = output["parameters"]["binary_data_size"]
        return np.frombuffer(content[split : split + size], "<f4").reshape(output["shape"])


# ---- Before and after the model ------------------------------------------------------------------------------------


class FileTypes:
    """What magika's library does around its model, in its default mode (high confidence)."""

    def __init__(self, model_folder: Path, types_file: Path) -> None:
        config = json.loads((model_folder / "config.min.json").read_text())
        self.labels: list[str] = config["target_labels_space"]
        self.thresholds: dict[str, float] = config["thresholds"]
        self.default_threshold: float = config["medium_confidence_threshold"]
        self.renamed: dict[str, str] = config["overwrite_map"]
        self.block_size: int = config["block_size"]
        self.begin_size: int = config["beg_size"]
        self.end_size: int = config["end_size"]
        self.padding: int = config["padding_token"]
        self.smallest: int = config["min_file_size_for_dl"]
        if config["mid_size"] or config["use_inputs_at_offsets"]:
            raise RuntimeError("this model takes more than the begin and the end of a file: this example does not")
        self.is_text: dict[str, bool] = {
            label: about["is_text"] for label, about in json.loads(types_file.read_text()).items()
        }

    def tokens(self, path: Path) -> np.ndarray | None:
        """The model's input for a file, INT32 [1, 2048], or None if it holds too little to ask the model.

        That is its first 1024 and its last 1024 bytes, white space at either end left out, one number per byte; where
        there are fewer, 256 fills up after the begin and before the end.
        """
        with path.open("rb") as file:
            begin = file.read(self.block_size).lstrip()[: self.begin_size]
            file.seek(max(0, path.stat().st_size - self.block_size))
            end = file.read(self.block_size).rstrip()[-self.end_size :]
        if len(begin) < self.smallest:
            return None
        tokens = np.full((1, self.begin_size + self.end_size), self.padding, np.int32)
        tokens[0, : len(begin)] = list(begin)
        tokens[0, tokens.size - len(end) :] = list(end)
        return tokens

    def without_model(self, path: Path) -> str:
        """The type of a file that holds too little to ask the model: `empty`, or text if it is UTF-8."""
        with path.open("rb") as file:
            content = file.read(self.block_size)
        if not content:
            return "empty"
        try:
            content.decode()
        except UnicodeDecodeError:
            return "unknown"
        return "txt"

    def decide(self, scores: np.ndarray) -> tuple[str, float]:
        """The type of a file and its score, from the model's output FP32 [1, types].

        The best type counts if it reaches its threshold. Otherwise all that is said is whether it is text.
        """
        best = int(np.argmax(scores[0]))
        label, score = self.labels[best], float(scores[0, best])
        answer = self.renamed.get(label, label)
        if score < self.thresholds.get(label, self.default_threshold):
            answer = "txt" if self.is_text[answer] else "unknown"
        return answer, score


# ---- Files to ask about --------------------------------------------------------------------------------------------

TEXTS = {
    "server.cpp": """\
#include <boost/asio.hpp>
#include <iostream>
#include <string>

namespace asio = boost::asio;
using asio::ip::tcp;

// Answers every line with the same line.
asio::awaitable<void> session(tcp::socket socket) {
    std::string line;
    for (;;) {
        std::size_t n = co_await asio::async_read_until(socket, asio::dynamic_buffer(line), '\\n', asio::use_awaitable);
        co_await asio::async_write(socket, asio::buffer(line.data(), n), asio::use_awaitable);
        line.erase(0, n);
    }
}

int main(int argc, char* argv[]) {
    asio::io_context context;
    std::cout << "listening on " << (argc > 1 ? argv[1] : "7000") << std::endl;
    context.run();
    return 0;
}
""",
    "page.html": """\
<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>Models</title>
  <link rel="stylesheet" href="style.css">
</head>
<body>
  <h1>What is served</h1>
  <ul>
    <li><a href="/v2/models/magika">magika</a>: types of files</li>
    <li><a href="/v2/models/resnet">resnet</a>: things in pictures</li>
  </ul>
  <p>Ask with <code>POST /v2/models/NAME/infer</code>.</p>
</body>
</html>
""",
    "notes.md": """\
# Release notes

## 2.1.0

* **Batching**: requests that arrive together run together, see [the guide](docs/batching.md).
* The command line takes `--host` and `--port`.

## 2.0.0

1. Install the package: `pip install example`
2. Start it:

   ```sh
   example serve model.onnx
   ```

> Models saved by version 1 still load.
""",
    "deploy.sh": """\
#!/usr/bin/env bash
set -euo pipefail

target=${1:?usage: deploy.sh HOST}
for model in models/*.onnx; do
    name=$(basename "$model" .onnx)
    if ! cmp -s "$model" "cache/$name"; then
        echo "copying $name to $target"
        cp "$model" "cache/$name" && scp -q "$model" "$target:/srv/models/$name/1/model.onnx"
    fi
done
ssh "$target" 'systemctl restart model-server'
""",
    "app.js": """\
'use strict';

const http = require('http');

async function classify(tokens) {
  const input = { name: 'bytes', shape: [1, tokens.length], datatype: 'INT32', data: tokens };
  const body = JSON.stringify({ inputs: [input] });
  const response = await fetch('http://127.0.0.1:8000/v2/models/magika/infer', { method: 'POST', body });
  if (!response.ok) {
    throw new Error(`the server answered ${response.status}`);
  }
  return (await response.json()).outputs[0].data;
}

module.exports = { classify };
""",
    "style.css": """\
:root { --accent: #2a6f97; }
body { font-family: system-ui, sans-serif; margin: 2rem auto; max-width: 40rem; color: #222; }
h1, h2 { color: var(--accent); border-bottom: 1px solid #ddd; }
code { background: #f4f4f4; padding: 0 0.2em; border-radius: 3px; }
a:hover { text-decoration: underline; }
@media (max-width: 600px) { body { margin: 1rem; font-size: 90%; } }
""",
    "schema.sql": """\
CREATE TABLE models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, loaded TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
CREATE INDEX models_by_time ON models (loaded);
INSERT INTO models (name) VALUES ('magika'), ('resnet'), ('bert');
SELECT m.name, COUNT(r.id) AS requests FROM models m LEFT JOIN requests r ON r.model_id = m.id
WHERE m.loaded > '2024-01-01' GROUP BY m.name HAVING COUNT(r.id) > 10 ORDER BY requests DESC;
""",
}


def write_png(path: Path, width: int = 64, height: int = 64) -> None:
    """A PNG picture, RGB: signature, header, compressed rows, end."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(x * y * c % 256 for x in range(width) for c in (1, 2, 3)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    )


def write_pdf(path: Path) -> None:
    """A PDF of one page with one line of text."""
    text = b"BT /F1 24 Tf 72 720 Td (What kind of file is this?) Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(text), text),
    ]
    content, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(content))
    path.write_bytes(content + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + trailer)


def write_xml(path: Path) -> None:
    """An XML document."""
    root = ET.Element("models")
    for name in ("magika", "resnet", "bert"):
        model = ET.SubElement(root, "model", {"name": name, "version": "1"})
        ET.SubElement(model, "platform").text = "onnxruntime_onnx"
    ET.indent(root)
    ET.ElementTree(root).write(path, "utf-8", xml_declaration=True)


def write_csv(path: Path) -> None:
    """A table of numbers as comma-separated values."""
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["request", "model", "rows", "milliseconds"])
        table.writerows([i, "magika", i % 7 + 1, round(1.5 + math.sin(i), 3)] for i in range(60))


def write_sqlite(path: Path) -> None:
    """A SQLite database with one table."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE models (name TEXT, version INTEGER)")
        database.executemany("INSERT INTO models VALUES (?, ?)", [("magika", 3), ("resnet", 50)])


def write_wav(path: Path) -> None:
    """A quarter of a second of a 440 Hz tone."""
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        samples = (int(20000 * math.sin(2 * math.pi * 440 * i / 8000)) for i in range(2000))
        sound.writeframes(b"".join(struct.pack("<h", sample) for sample in samples))


def make_files(folder: Path, model: Path) -> list[Path]:
    """Files of many kinds: written into `folder`, or found on this machine."""
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    settings = {"host": "127.0.0.1", "port": 8000, "models": {"magika": {"path": str(model)}}, "files": list(TEXTS)}
    (folder / "settings.json").write_text(json.dumps(settings, indent=2))
    write_xml(folder / "models.xml")
    write_csv(folder / "times.csv")
    write_png(folder / "picture.png")
    write_pdf(folder / "page.pdf")
    write_sqlite(folder / "models.sqlite")
    write_wav(folder / "tone.wav")
    with zipfile.ZipFile(folder / "texts.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in TEXTS:
            archive.write(folder / name, name)
    with tarfile.open(folder / "texts.tar", "w") as archive:
        for name in TEXTS:
            archive.add(folder / name, name)
    (folder / "page.html.gz").write_bytes(gzip.compress(TEXTS["page.html"].encode()))
    np.save(folder / "numbers.npy", np.linspace(0, 1, 200))
    py_compile.compile(__file__, cfile=str(folder / "file_types.pyc"), doraise=True)
    return [Path(__file__).resolve(), *sorted(folder.iterdir()), Path(sys.executable).resolve(), model]


# ---- The table -----------------------------------------------------------------------------------------------------

HEADINGS = ("FILE", "SENT AS", "SERVER SAYS", "SCORE", "MAGIKA SAYS", "AGREE")


def print_table(rows: list[tuple[str, ...]]) -> None:
    """Print the rows under HEADINGS, aligned; the last column in colour on a terminal."""
    colours = {"yes": "\033[32m", "no": "\033[31m"} if sys.stdout.isatty() and "NO_COLOR" not in os.environ else {}
    widths = [max(map(len, column)) for column in zip(HEADINGS, *rows, strict=True)]
    for row in (HEADINGS, *rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        cells[-1] = colours.get(row[-1], "") + row[-1] + ("\033[0m" if row[-1] in colours else "")
        print("  ".join(cells))


def shown(path: Path, folder: Path) -> str:
    """A file as the table names it: the made ones by their name, others by their path, its end if that is long."""
    text = path.name if path.parent == folder else str(path)
    return text if len(text) <= 40 else "..." + text[-37:]


def existing_file(text: str) -> Path:
    """For argparse: the path of a file that is there."""
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"no such file: {text}")
    return Path(text)


def http_url(text: str) -> str:
    """For argparse: a URL with scheme and host."""
    parts = urllib.parse.urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise argparse.ArgumentTypeError(f"not a URL like http://127.0.0.1:8000: {text}")
    return text


def main() -> int:
    """Ask about each file, print the table, and return the exit status."""
    parser = argparse.ArgumentParser(
        description="Ask a served model what kind of file each file is, and compare with magika's own answers.",
        epilog="Exit status: 0 if both agree on all files, 1 if not or if the server does not answer.",
    )
    parser.add_argument("files", metavar="FILE", nargs="*", type=existing_file, help="default: some twenty made ones")
    parser.add_argument("--url", type=http_url, help="a running server, say http://127.0.0.1:8000 (default: start one)")
    parser.add_argument("--model", default="magika", metavar="NAME", help="the model's name there (default: magika)")
    arguments = parser.parse_args()

    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # for magika's own runtime; the server sets it itself
    try:
        import magika
    except ImportError:
        parser.error("the model comes with the package magika: pip install magika")
    package = Path(magika.__file__).parent
    library = magika.Magika()
    model_folder = package / "models" / library.get_model_name()
    types = FileTypes(model_folder, package / "config" / "content_types_kb.min.json")

    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="file_types-")))
        files = arguments.files or make_files(folder, model_folder / "model.onnx")
        url = arguments.url or stack.enter_context(serve(arguments.model, model_folder / "model.onnx"))
        print(f"Asking the model {arguments.model} at {url} about {len(files)} files\n")
        client = Client(url, arguments.model)

        rows, agreed = [], 0
        for number, path in enumerate(files):
            tokens = types.tokens(path)
            if tokens is None:
                sent, label, score = "not sent", types.without_model(path), 1.0
            elif number % 4 == 0:  # either form does for any file: this is to show both
                sent, (label, score) = "JSON", types.decide(client.ask_json(tokens))
            else:
                sent, (label, score) = "binary", types.decide(client.ask_binary(tokens))
            theirs = library.identify_path(path)
            same = label == str(theirs.output.label) and math.isclose(score, theirs.score, abs_tol=1e-3)
            agreed += same
            answers = (label, f"{score:.3f}", str(theirs.output.label), "yes" if same else "no")
            rows.append((shown(path, folder), sent, *answers))
        print_table(rows)
        print(f"\n{agreed} of {len(files)} agree")
    return 0 if agreed == len(files) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ImportError, OSError, RuntimeError) as error:
        sys.exit(f"file_types.py: {error}")
