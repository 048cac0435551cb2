#!/bin/sh
# Makes the locks anew, with current versions: of python/, from the dependencies in pyproject.toml, of the lab's peers,
# and of the runtimes with virtual threads that tests in Java, and the lab's peers in Java, run on. Versions and hashes
# are for every platform. Uses uv, of the version below, from an environment of its own.
#   python/lock.sh              keeps what the locks have where it still fits
#   python/lock.sh --upgrade    takes the newest of everything
set -eu
cd "$(dirname "$0")/.."
uv=build/tools/uv
[ -x $uv/bin/uv ] || "${PYTHON:-python3}" -m venv $uv
$uv/bin/python -m pip install --quiet --disable-pip-version-check uv==0.13.8

lock() {
	out=$1
	shift
	$uv/bin/uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-header \
		--no-emit-index-url --no-emit-find-links "$@" -o "$out"
}

lock python/requirements.lock --extra capnp --extra consul --extra dns --extra etcd --extra http --extra msgspec --extra uvloop --extra websocket --extra zookeeper --extra zstd --group python/pyproject.toml:development python/pyproject.toml "$@"
lock java/requirements.lock java/requirements.in "$@"
lock lab/peers/java/requirements.lock lab/peers/java/requirements.in "$@"
# The packages that both have, in one version.
lock lab/peers/python/requirements.lock -c python/requirements.lock lab/peers/python/requirements.in "$@"
