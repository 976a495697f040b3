#!/bin/sh
# Prints a Python of a version that the project runs on: the first of those named, else of
# those found. Each is really run: pyenv's shims may exist and not work.
[ $# -gt 0 ] || set -- python3 python3.11 python3.12 python3.13 python3.14 /usr/bin/python3
for python in "$@"; do
    if "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' \
        >/dev/null 2>&1; then
        command -v "$python"
        exit 0
    fi
done
echo "this needs Python 3.11 to 3.14, and none of these is one: $*" >&2
exit 1
