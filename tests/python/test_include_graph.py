"""Who includes what in cpp/: the rules of docs/architecture.md, checked over every #include line.

CMake already keeps the stages' folders out of each other's reach; this also judges libraries and names the line.
"""

import re
from collections.abc import Iterator
from pathlib import Path

CPP = Path(__file__).parents[2] / "cpp"
STAGES = sorted(path.name for path in (CPP / "src").iterdir() if path.is_dir())
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)

# Library -> how its headers are recognised.
LIBRARIES = {
    "Beast": re.compile(r"boost/beast"),
    "JSON": re.compile(r"boost/json"),
    "nghttp2": re.compile(r"nghttp2/"),
    "protozero": re.compile(r"protozero/"),
    "OpenSSL": re.compile(r"openssl/|boost/asio/ssl"),
    "ONNX Runtime": re.compile(r"onnxruntime|core/session/"),
    "zlib": re.compile(r"zlib\.h$"),
    "pybind11": re.compile(r"pybind11/"),
    "Python": re.compile(r"Python\.h$"),
}
# Library -> the folders of cpp/ that may include it. What is in no list is nowhere: ONNX Runtime is loaded at run
# time through declarations of our own.
ALLOWED = {
    "Beast": {"src/protocol", "third_party"},
    "JSON": {"third_party", *(f"src/{stage}" for stage in STAGES)},
    "nghttp2": {"src/protocol"},
    "OpenSSL": {"src/protocol"},
    "protozero": {"src/request", "src/response"},
    "zlib": {"src/core", "src/response"},
    "pybind11": {"bindings"},
    "Python": {"bindings"},
}


def folder_of(file: Path) -> str:
    """'src/net', 'bindings', 'include', ...: the part of cpp/ whose rules hold for a file."""
    parts = file.relative_to(CPP).parts
    return "/".join(parts[:2]) if parts[0] == "src" else parts[0]


def includes() -> Iterator[tuple[str, str, Path, str]]:
    """(where, folder, file, included path) for each #include line of cpp/."""
    for file in sorted(CPP.rglob("*")):
        if file.suffix in {".hpp", ".h", ".cpp", ".ipp", ".inc"}:
            text = file.read_text(encoding="utf-8")
            for match in INCLUDE.finditer(text):
                line = text.count("\n", 0, match.start(match.lastindex or 0)) + 1
                yield f"{file.relative_to(CPP.parent)}:{line}", folder_of(file), file, match.group(1) or match.group(2)


def stages_seen_from(folder: str) -> set[str]:
    """The stages whose headers a folder of cpp/ may include."""
    if folder == "src/server":
        return set(STAGES)
    if folder == "bindings":
        return {"core", "server"}
    if folder.startswith("src/"):
        return {"core", folder.removeprefix("src/")}
    return set()


def test_there_is_something_to_check() -> None:
    assert len(list(includes())) > 50


def test_a_stage_sees_only_itself_core_and_the_public_headers() -> None:
    wrong = []
    for where, folder, file, path in includes():
        beside = (file.parent / path).resolve()
        if beside.is_file() and CPP in beside.parents:
            # Found beside the including file, or through "..".
            if folder_of(beside) != folder:
                wrong.append(f"{where} reaches {path}")
        elif (CPP / "src" / path).exists() and path.split("/")[0] not in stages_seen_from(folder):
            wrong.append(f"{where} includes {path}")
    assert wrong == []


def test_public_headers_stand_alone() -> None:
    wrong = [
        f"{where} includes {path}"
        for where, folder, _, path in includes()
        if folder == "include" and (path.split("/")[0] in STAGES or any(p.search(path) for p in LIBRARIES.values()))
    ]
    assert wrong == []


def test_each_library_stays_in_its_folders() -> None:
    wrong = [
        f"{where} includes {path} ({library})"
        for where, folder, _, path in includes()
        for library, pattern in LIBRARIES.items()
        if pattern.search(path) and folder not in ALLOWED.get(library, set())
    ]
    assert wrong == []


def test_core_knows_no_network() -> None:
    forbidden = re.compile(r"boost/asio|sys/socket\.h")
    wrong = [
        f"{where} includes {path}"
        for where, folder, _, path in includes()
        if folder == "src/core" and forbidden.search(path)
    ]
    assert wrong == []
