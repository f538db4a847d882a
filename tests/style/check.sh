#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a compiler does not say: licence lines, names, and what this code does not do (HACKING.md, "Style").
set -u
cd "$(dirname "$0")/../.."
failures=0
complain() {
  printf '%s\n' "$@"
  failures=$((failures + 1))
}

mapfile -t files < <(find src bpf bench tests cmake examples -type f -not -path '*/node_modules/*' -not -path '*/data/*' 2>/dev/null | sort)

for file in "${files[@]}" dev .ci/run CMakeLists.txt; do
  case $file in
    *.bpf.c | *.bpf.h | bpf/*.h | bpf/*.c) licence='GPL-2.0-only' ;;
    src/abi/*.h) licence='Apache-2.0 OR GPL-2.0-only' ;;
    *.cc | *.h | *.c | *.S | *.py | *.sh | *.mjs | *.js | *.css | *.cmake | *CMakeLists.txt | dev | .ci/run | bench/*/run) licence='Apache-2.0' ;;
    *) continue ;;
  esac
  head -n 2 "$file" | grep -qE "SPDX-License-Identifier: $licence( \*/)?\$" || complain "$file: no line 'SPDX-License-Identifier: $licence' on top"
done

# forbid REGEX WHERE-REGEX WHY
forbid() {
  local hits
  hits=$(printf '%s\n' "${files[@]}" | grep -E "$2" | xargs -r grep -nE "$1" /dev/null | grep -vE 'NOLINT\(style\)|^[^:]+:[0-9]+: *//')
  [[ -z $hits ]] || complain "$3:" "$hits"
}
forbid 'std::(views|source_location|expected)\b' '\.(cc|h)$' 'clang 14 does not have it'
forbid '^\s*throw\b' '^src/.*\.(cc|h)$' 'we do not throw: return a Result'
forbid '\bassert\(' '^src/.*\.(cc|h)$' 'CHECK for our own promises, Result for input'
forbid '\b(printf|puts|fputs|perror)\(|std::(cout|cerr|clog)\b|fmt::print\(' '^src/(abi|benchmark|code|ingest|replay|bpf_source|engine|dwarf|elf|live|perfdata|probes|process|profile|sampler|sink|symbolize|unwind)/.*([^t]|[^s]t)\.(cc|h)$' 'only cli prints: use base/diagnostics.h'
forbid '#include "\.\./|#include "src/' '\.(cc|h)$' 'includes go through the module view: "module/file.h"'
forbid '#include <(CLI/|nlohmann/|elfutils/libdw|libelf|gelf)' '^src/(abi|base|benchmark|code|ingest|replay|bpf_source|engine|dwarf|elf|live|perfdata|probes|process|profile|sampler|sink|symbolize|unwind)/.*\.h$' 'heavy headers stay out of headers'
forbid '^\s*using namespace std;' '\.(cc|h)$' 'not std'
forbid '\b(TODO|FIXME|XXX)\b' '^(src|bpf)/.*\.(cc|h|c)$' 'an open end belongs into an issue'

bad_names=$(printf '%s\n' "${files[@]}" | grep -E '^(src|bpf)/' | grep -E '/([a-z_]*_)?(utils?|helpers?|common|misc|manager|impl)(_[a-z]*)?\.(cc|h|c)$')
[[ -z $bad_names ]] || complain 'a file is named by the noun it defines:' "$bad_names"

for patch in tests/mutations/*.patch; do
  command -v git >/dev/null || break
  git apply --check "$patch" 2>/dev/null || complain "$patch: does not apply any more"
done

if command -v git >/dev/null && git rev-parse 2>/dev/null; then
  large=$(git ls-files -z | xargs -0 -r stat -c '%s %n' 2>/dev/null | awk '$1 > 262144')
  [[ -z $large ]] || complain 'too large for git (no blobs, no vendored code):' "$large"
fi

((failures == 0)) || { echo "$failures kinds of trouble"; exit 1; }
echo "style: ${#files[@]} files, nothing to complain about"
