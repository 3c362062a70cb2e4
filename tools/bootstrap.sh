#!/usr/bin/env bash
# Brings a bare Debian machine to where `make` can build: system packages, .venv, Python packages.
#   bootstrap.sh system            the Debian packages that are missing (apt-get as root or sudo, else a message)
#   bootstrap.sh venv DIR          a virtual environment of the newest Python here that works (PYTHON=... overrides)
#   bootstrap.sh packages DIR ARG...  pip install ARG... into it; only errors are shown
#   bootstrap.sh fuzz              clang with libFuzzer, installed if it is missing; prints the compiler's name
#   bootstrap.sh stress            slowhttptest, installed if it is missing
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
    compiles nghttp2/nghttp2.h || echo libnghttp2-dev
    compiles openssl/ssl.h || echo libssl-dev
    compiles protozero/version.hpp || echo libprotozero-dev
    command -v h2load >/dev/null || echo nghttp2-client # another
    command -v nghttpd >/dev/null || echo nghttp2-server # the control of the HTTP/2 tests
    compiles doctest/doctest.h || echo doctest-dev
    find_python >/dev/null || echo python3 python3-dev python3-venv
}

# A clang that comes without its runtime libraries compiles but cannot link a fuzz target.
fuzzes() {
    echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
        "$1" -x c++ -fsanitize=fuzzer,address,undefined - -o /dev/null >/dev/null 2>&1
}

find_fuzzing_clang() {
    local name
    for name in clang++-19 clang++; do
        if fuzzes "$name"; then
            echo "$name"
            return
        fi
    done
    return 1
}

missing_fuzz_packages() {
    find_fuzzing_clang >/dev/null && return
    if apt-cache show clang-19 >/dev/null 2>&1; then
        echo clang-19 libclang-rt-19-dev
    else
        echo clang libclang-rt-dev
    fi
}

missing_stress_packages() {
    command -v slowhttptest >/dev/null || echo slowhttptest
}

install_missing() { # install_missing LISTER: the packages that the function LISTER prints, until it prints none
    local packages root=
    packages=$("$1" | xargs)
    [ -n "$packages" ] || return 0
    [ "$(id -u)" = 0 ] || root="sudo -n"
    if ! command -v apt-get >/dev/null || { [ -n "$root" ] && ! sudo -n true 2>/dev/null; }; then
        echo "Missing system packages, and no right to install them. As root: apt-get install $packages" >&2
        exit 1
    fi
    $root apt-get update -qq
    packages=$("$1" | xargs) # once more: which packages there are is known only now
    echo "Installing system packages: $packages" >&2
    # shellcheck disable=SC2086  # a list of words
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
    packages=$("$1" | xargs)
    if [ -n "$packages" ]; then
        echo "Still missing after apt-get: $packages${PYTHON:+ (PYTHON=$PYTHON must be 3.11+ with venv and headers)}" >&2
        exit 1
    fi
}

case "$1" in
system) install_missing missing_packages ;;
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
stress) install_missing missing_stress_packages ;;
fuzz)
    install_missing missing_fuzz_packages
    find_fuzzing_clang
    ;;
*)
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
