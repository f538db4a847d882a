# SPDX-License-Identifier: Apache-2.0
# What each script here begins with: the suite whose kernel is booted, and a directory in which `said` is what was printed there.
set -euo pipefail
suite=${1:?usage: ${0##*/} SUITE}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
((EUID == 0)) || { echo "SKIP: needs root"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*"
  cat "$work/said"
  exit 1
}
# boot COMMAND: runs it there; of what it prints, the lines that follow "--- FILE" become a file, too.
boot() {
  "$here/boot.sh" "$suite" "$1" >"$work/said" 2>&1 || { code=$?; cat "$work/said"; exit $code; }
  awk -v directory="$work" '/^--- / { out = directory "/" $2; next } out { print > out }' "$work/said"
}
