"""The documents say what the code says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from asio_infer import config

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = "cpp|python|tests|docs|tools|benchmarks|examples|cmake"


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchor(heading: str) -> str:
    """How a heading is linked to."""
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


def test_tables_are_what_the_code_says() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools/make_docs.py", "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_every_table_has_its_place() -> None:
    found = {name for page in PAGES for name in re.findall(r"<!-- made: ([a-z-]+) -->", text_of(page))}
    made = set(
        re.findall(r'^    "([a-z-]+)": ', text_of(ROOT / "tools/make_docs.py").split("\nTABLES:", 1)[1], re.MULTILINE)
    )
    assert found == made
    assert len(found) > 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", text_of(page)):
        path, _, fragment = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), target
        if fragment:
            assert fragment in map(anchor, re.findall(r"^#+ (.+)$", text_of(linked), re.MULTILINE)), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_exist(page: Path) -> None:
    for path in re.findall(rf"`((?:{FOLDERS})/[\w./+*-]+)`", text_of(page)):
        assert list(ROOT.glob(path.rstrip("/"))), path


def test_the_limits_of_the_header_and_their_reasons() -> None:
    header = text_of(ROOT / "cpp/include/asio_infer/limits.hpp")
    code: dict[str, float] = {}
    for name, value in re.findall(r"^    std::\w+ (\w+) = (.+?);", header, re.MULTILINE):
        base, _, shift = re.sub(r"std::size_t\{(\d+)\}|'", r"\1", value).partition("<<")
        code[name] = int(base) << int(shift or 0)
    for name, value in re.findall(r"^    std::chrono::milliseconds (\w+)\{([\d']+)\};", header, re.MULTILINE):
        code[name] = int(value.replace("'", "")) / 1000
    assert len(code) == len(re.findall(r"^    std::", header, re.MULTILINE))

    section = text_of(ROOT / "docs/architecture.md").split("\n## Limits\n", 1)[1].split("\n## ", 1)[0]
    units = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "s": 1}
    rows = re.findall(r"^\| `(\w+)` \| (\d+)(?: (\w+))? \| (.+) \|$", section, re.MULTILINE)
    assert {name: int(number) * units[unit] for name, number, unit, _ in rows} == code
    assert all(len(reason) > 10 for *_, reason in rows)


def test_every_key_of_a_file_is_documented() -> None:
    page = text_of(ROOT / "docs/configuration.md")
    for key in config._SERVER_KEYS | config._MODEL_KEYS:
        assert f"`{key}`" in page, key


def test_the_file_of_the_documentation_is_one(tmp_path: Path) -> None:
    example = text_of(ROOT / "docs/configuration.md").split("```toml\n[server]\n", 1)[1].split("```", 1)[0]
    file = tmp_path / "server.toml"
    file.write_text("[server]\n" + example, encoding="utf-8")
    loaded = config.load_config(file)
    named_files = {"tls", "auth"}  # of files that are not there
    assert set(loaded.server) == config._SERVER_KEYS - named_files
    given = {key for model in loaded.models for key in model.options} | {"name", "path", "identity"}
    assert given == config._MODEL_KEYS - {"provider_options"}


def test_every_folder_of_the_tree_is_explained() -> None:
    page = text_of(ROOT / "CONTRIBUTING.md")
    for stage in (ROOT / "cpp/src").iterdir():
        assert f"| `cpp/src/{stage.name}/` |" in page, stage


def test_only_addresses_of_this_machine() -> None:
    for page in PAGES:
        for host in re.findall(r"https?://([^/\s:`\"')]+)", text_of(page)):
            assert host in {"127.0.0.1", "HOST", "host"}, (page.name, host)
