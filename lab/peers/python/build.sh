#!/bin/sh
# Builds the peers in Python into build/peers.
set -eu
cd "$(dirname "$0")/../../.."
"${PYTHON:-python3}" scripts/environment.py build/peers/python
sh scripts/launcher.sh build/peers/python-grpcio-aio build/peers/python grpcio_aio
sh scripts/launcher.sh build/peers/python-grpcio build/peers/python grpcio_blocking
sh scripts/launcher.sh build/peers/python-thrift build/peers/python apache_thrift
sh scripts/launcher.sh build/peers/python-fastapi build/peers/python fastapi_uvicorn
sh scripts/launcher.sh build/peers/python-echo build/peers/python echo
