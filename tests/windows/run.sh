#!/usr/bin/env bash
# Run the tests that `make test-windows` promises on the bench in $1, which it makes first.
set -uo pipefail
cd "$(dirname "$0")/../.."
if ! bash tests/windows/bench.sh "$1"; then
  echo 'skipped: Wine cannot be installed here (needs Debian, root and a package index)'
  exit 0
fi
failed=0
"$1/python-win" tests/windows/trials.py || failed=1
python3 tests/windows/mcp_client.py "$1/python-win" || failed=1
"$1/python-win" -m pytest -q -n 0 -p no:cacheprovider tests/test_cases.py \
  tests/unit/test_{text,diff,data,outline,front_matter,losses,near_misses,planning}.py || failed=1
exit $failed
