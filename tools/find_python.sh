#!/bin/sh
# Prints the first Python of a version that the project runs on. A shim that exists but
# does not work (pyenv has those) is passed over, because each candidate is really run.
for python in python3 python3.11 python3.12 python3.13 /usr/bin/python3; do
    if "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
        >/dev/null 2>&1; then
        command -v "$python"
        exit 0
    fi
done
echo "shoe-daemon needs Python 3.11, 3.12 or 3.13: install python3, or say make PYTHON=…" >&2
exit 1
