#!/bin/sh
# What `make demo` shows: the sample documents inspected, a batch planned and applied, a stale plan refused.
# `mdplan` is on the PATH. Exits with 0 only if every step ended as it should.
set -eu

samples=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

# Nothing of this machine's settings plays a part, and nothing of it is changed.
export MDPLAN_STATE_DIR="$folder/state" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
mkdir "$folder/kettle"
cp -R "$samples/guide.md" "$samples/notes" "$samples/batches" "$folder/kettle"
cd "$folder/kettle"

say() {
    printf '\n# %s\n' "$1"
}

# run EXIT_CODE COMMAND: show the command line, run it, and demand the exit code.
run() {
    printf '\n$ %s\n' "$2"
    code=0
    eval "$2" 2>&1 || code=$?
    if [ "$code" -ne "$1" ]; then
        printf 'demo failed: exit code %s, not %s\n' "$code" "$1" >&2
        exit 1
    fi
}

# The plan ID that `mdplan plan` has shown for a batch, as short as it is shown behind "To apply".
plan_id() {
    mdplan plan --json "$1" | sed -n 's/.*"planId": "\(sha256-[0-9a-f]\{16\}\).*/\1/p'
}

demand() {
    if ! eval "$1"; then
        printf 'demo failed: this does not hold: %s\n' "$1" >&2
        exit 1
    fi
}

git init -q .
git add .
git -c user.name=demo -c user.email=demo@example.org commit -q -m 'The documents as they were'

say '1. What is in a document: its sections, with IDs, lines and hashes. Never its text.'
run 0 'mdplan stat guide.md'

say '2. A batch of edits names sections, not lines.'
run 0 'cat batches/prepare-release.json'

say '3. A dry run: the diff, what to look out for, and a plan ID. No file is touched.'
run 0 'mdplan plan batches/prepare-release.json'
demand 'git diff --quiet'

say '4. Apply exactly that plan.'
first=$(plan_id batches/prepare-release.json)
run 0 "mdplan apply $first"
run 0 'git diff --stat'
demand 'grep -q "The stable firmware" guide.md'
demand 'grep -q "kettle flash --channel nightly" guide.md'

say '5. Apply it a second time: nothing is written twice.'
run 0 "mdplan apply $first"

say '6. What is not certain is refused, with everything that is wrong at once.'
run 3 'mdplan plan batches/ambiguous.json'

say '7. Plan again, and let somebody else be faster.'
run 0 'mdplan plan batches/mind-the-steam.json'
second=$(plan_id batches/mind-the-steam.json)
run 0 'echo "Or use less water." >> guide.md'
cp guide.md "$folder/theirs.md"
run 4 "mdplan apply $second"
demand 'cmp -s guide.md "$folder/theirs.md"'

say '8. Planned on the file as it is now, it goes through, and their line stays.'
run 0 'mdplan plan batches/mind-the-steam.json'
run 0 "mdplan apply $(plan_id batches/mind-the-steam.json)"
demand 'grep -q "Mind the steam." guide.md && grep -q "Or use less water." guide.md'

say '9. The history knows what was committed, and takes it back.'
run 0 'mdplan undo -y'
demand '! grep -q "Mind the steam." guide.md && grep -q "Or use less water." guide.md'
run 0 'mdplan history'

say '10. The diff is one that git takes: several files, CRLF line ends, no final newline.'
run 0 'mdplan plan batches/notes.json | git apply'
run 0 'git diff --stat'

printf '\nEvery step ended as it should.\n'
