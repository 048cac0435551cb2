#!/bin/sh
# Calls of a server in Go by HTTP, without a client of ours: curl.sh HOST:PORT
set -e

curl -sS -w '\n' --json '{"user_id": 7}' "http://$1/trunkcall.example.v1.UserService/GetUser"

# A stream. Each message has a byte of flags (0) and four of length (11) before it, and so has each answer.
printf '\0\0\0\0\013{"count":3}' | curl -sS -w '\n' --output - --data-binary @- \
    -H 'content-type: application/connect+json' "http://$1/trunkcall.example.v1.UserService/ListUsers"
