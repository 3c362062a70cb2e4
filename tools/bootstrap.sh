#!/usr/bin/env bash
# Brings a bare Debian machine to where `make` can build: system packages, .venv, Python packages.
#   bootstrap.sh system            the Debian packages that are missing (apt-get as root or sudo, else a message)
#   bootstrap.sh venv DIR          a virtual environment of the newest Python here that works (PYTHON=... overrides)
#   bootstrap.sh packages DIR ARG...  pip install ARG... into it; only errors are shown
set -eu
cd "$(dirname "$0")/.."

# A Python counts if it starts (a pyenv shim may not), is new enough, makes virtual environments and has its headers.
python_works() {
    "$1" - >/dev/null 2>&1 <<'PY'
import ensurepip, os, sys, sysconfig, venv
assert sys.version_info >= (3, 11)
assert os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))
PY
}

find_python() {
    local name
    for name in ${PYTHON:-python3.14 python3.13 python3.12 python3.11 python3 /usr/bin/python3}; do
        if python_works "$name"; then
            echo "$name"
            return
        fi
    done
    return 1
}

compiles() { # compiles HEADER: does g++ find it?
    echo "#include <$1>" | "${CXX:-g++}" -x c++ -E - >/dev/null 2>&1
}

missing_packages() {
    command -v "${CXX:-g++}" >/dev/null || echo g++
    command -v cmake >/dev/null || echo cmake
    command -v ninja >/dev/null || echo ninja-build
    command -v curl >/dev/null || echo curl # one of the clients that the tests use
    compiles zlib.h || echo zlib1g-dev
    compiles doctest/doctest.h || echo doctest-dev
    find_python >/dev/null || echo python3 python3-dev python3-venv
}

system() {
    local packages root=
    packages=$(missing_packages | xargs)
    [ -n "$packages" ] || return 0
    [ "$(id -u)" = 0 ] || root="sudo -n"
    if ! command -v apt-get >/dev/null || { [ -n "$root" ] && ! sudo -n true 2>/dev/null; }; then
        echo "Missing system packages, and no right to install them. As root: apt-get install $packages" >&2
        exit 1
    fi
    echo "Installing system packages: $packages"
    $root apt-get update -qq
    # shellcheck disable=SC2086  # a list of words
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
    packages=$(missing_packages | xargs)
    if [ -n "$packages" ]; then
        echo "Still missing after apt-get: $packages${PYTHON:+ (PYTHON=$PYTHON must be 3.11+ with venv and headers)}" >&2
        exit 1
    fi
}

case "$1" in
system) system ;;
venv)
    python=$(find_python) || { echo "No Python 3.11+ here works with venv and headers${PYTHON:+ (PYTHON=$PYTHON)}" >&2; exit 1; }
    echo "Making $2 with $("$python" --version)"
    "$python" -m venv --clear "$2"
    "$2/bin/pip" install -qq --disable-pip-version-check -U "pip>=25.1" # 25.1 brought --group
    ;;
packages)
    venv=$2
    shift 2
    "$venv/bin/pip" install -qq --disable-pip-version-check "$@"
    ;;
*)
    sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
