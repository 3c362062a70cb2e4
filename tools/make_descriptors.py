"""Makes the descriptors that the gRPC reflection service gives out, from cpp/proto/.

    make_descriptors.py            writes cpp/src/request/descriptors.cpp
    make_descriptors.py --check    exit status 1 if that file is not what would be written

Needs the package grpcio-tools.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from google.protobuf import descriptor_pb2
from grpc_tools import protoc

ROOT = Path(__file__).parents[1]
PROTO = ROOT / "cpp" / "proto"
TARGET = ROOT / "cpp" / "src" / "request" / "descriptors.cpp"
BYTES_PER_LINE = 26


def compile_all() -> descriptor_pb2.FileDescriptorSet:
    files = sorted(path.name for path in PROTO.glob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "set"
        if protoc.main(["protoc", f"--proto_path={PROTO}", f"--descriptor_set_out={out}", *files]) != 0:
            sys.exit("protoc failed")
        return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())


def symbols(file: descriptor_pb2.FileDescriptorProto) -> Iterator[str]:
    """The full names of everything that a client may ask for."""

    def of_message(message: descriptor_pb2.DescriptorProto, scope: str) -> Iterator[str]:
        name = f"{scope}.{message.name}"
        yield name
        yield from (f"{name}.{field.name}" for field in message.field)
        yield from (f"{name}.{enum.name}" for enum in message.enum_type)
        for nested in message.nested_type:
            yield from of_message(nested, name)

    for message in file.message_type:
        yield from of_message(message, file.package)
    yield from (f"{file.package}.{enum.name}" for enum in file.enum_type)
    for service in file.service:
        yield f"{file.package}.{service.name}"
        yield from (f"{file.package}.{service.name}.{method.name}" for method in service.method)


def as_array(name: str, data: bytes) -> Iterator[str]:
    yield f"constexpr unsigned char {name}[]{{"
    for at in range(0, len(data), BYTES_PER_LINE):
        yield "    " + "".join(f"{byte}," for byte in data[at : at + BYTES_PER_LINE])
    yield "};"


def render() -> str:
    lines = [
        "// Made by tools/make_descriptors.py from cpp/proto/: run it after a change there.",
        '#include "request/descriptors.hpp"',
        "",
        "// clang-format off",
        "namespace asio_infer {",
        "",
        "namespace {",
        "",
    ]
    rows = []
    for index, file in enumerate(compile_all().file):
        lines += as_array(f"file_{index}", file.SerializeToString(deterministic=True))
        lines.append(f"constexpr std::string_view symbols_{index}[]{{")
        lines += (f'    "{name}",' for name in symbols(file))
        lines += ["};", ""]
        services = ", ".join(f'"{file.package}.{service.name}"' for service in file.service)
        rows.append(f'    {{"{file.name}", {services}, file_{index}, symbols_{index}}},')
    lines += ["constexpr file_descriptor files[]{", *rows, "};", "", "}  // namespace", ""]
    lines += ["std::span<const file_descriptor> file_descriptors() noexcept { return files; }", ""]
    lines += ["}  // namespace asio_infer", ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare")
    text = render()
    if parser.parse_args().check:
        return int(TARGET.read_text(encoding="utf-8") != text)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
