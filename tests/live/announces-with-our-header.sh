#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cicada/bench.h: a program of three more lines, and Google Benchmark with a reporter. Without a runner nothing happens.
source "$(dirname "$0")/lib.sh"
# In every C and C++ that it may be included in.
printf '#include <stdio.h>\n#include <cicada/bench.h>\nint main(void) { cicada_bench_start(); cicada_bench_round(1, cicada_bench_now()); cicada_bench_stop("a"); return 0; }\n' | tee includes.c >includes.cc
for standard in c11 c17 gnu11 c++11 c++20 gnu++17; do
  file=includes.c compiler=cc
  [[ $standard != *++* ]] || file=includes.cc compiler=c++
  "$compiler" -std=$standard -pedantic -Wall -Wextra -Werror -I "$(dirname "$0")/../../include" -o includes "$file" 2>err || fail "bench.h as $standard: $(head -5 err)"
  ./includes || fail "bench.h as $standard does not run"
done
examples=$(dirname "$CICADA")/examples/bench
strace=$(timeout 300 "$examples/three_lines" 2>&1) || fail "three_lines without a runner: $strace"
"$CICADA" bench -q -o three -- "$examples/three_lines" 2>err || fail "bench ended with $?"
programs=(three)
if [[ -x $examples/google_benchmark ]]; then
  "$CICADA" bench -q -o google -- "$examples/google_benchmark" --benchmark_repetitions=12 --benchmark_min_time=0.02 >out 2>err || fail "bench ended with $?"
  programs+=(google)
fi
python3 - "${programs[@]}" <<'PY' || fail "results"
import json, re, sys
wanted = {
    "three": {f"three_lines.c::insertion_sort[{n}]": "insertion_sort" for n in (2500, 5000, 10000)},
    "google": {"google_benchmark.cc::sort_words/1000": "sort", "google_benchmark.cc::sort_words/10000": "sort", "google_benchmark.cc::count_digits": "count_digits"},
}
for directory in sys.argv[1:]:
    result = json.load(open(f"{directory}/bench.json"))
    found = {one["uri"]: one for one in result["benchmarks"]}
    assert set(found) == set(wanted[directory]), sorted(found)
    for uri, one in found.items():
        assert one["source"] == "rounds" and one["summary"]["count"] == 12, (uri, one["source"], one["summary"])
        assert one["runs"][0]["samples"] > 0 and one["runs"][0]["whole_stacks"] == one["runs"][0]["user_stacks"], one["runs"][0]
medians = [one["summary"]["median_ns"] for one in json.load(open("three/bench.json"))["benchmarks"]]
assert medians[0] < medians[1] < medians[2], medians
PY
