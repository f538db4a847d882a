#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The real client of the runner FIFO protocol, unchanged, from npm: tinybench, vitest, and the client itself in several processes. Each benchmark
# has the client's statistics, a flame graph with JavaScript names, and whole stacks.
source "$(dirname "$0")/lib.sh"
modules=$(dirname "$CICADA")/../npm/node_modules
[[ -d $modules ]] || modules=${NODE_PATH:-}
[[ -d $modules/@codspeed/core ]] || skip "no @codspeed/core: ./dev test installs it"
node=$modules/node/bin/node
"$node" --version >/dev/null 2>&1 || skip "no node from npm"
guard_shared_directories
mkdir .git src  # clients look for a work tree
ln -s "$(readlink -f "$modules")" node_modules
cat >work.mjs <<'JS'
// Too large to be inlined, so that each has a frame of its own.
export function addSquares() {
  let sum = 0;
  for (let i = 0; i < 20000; i++) sum += Math.sqrt(i * 3.7) % 7;
  try { return JSON.stringify({ sum }).length; } finally { sum = 0; }
}
export function joinWords() {
  const words = [];
  for (let i = 0; i < 4000; i++) words.push(String((i * 7919) % 4001));
  try { return words.sort().join(" ").length; } finally { words.length = 0; }
}
JS
cat >bench.mjs <<'JS'
import { withCodSpeed } from "@codspeed/tinybench-plugin";
import { Bench } from "tinybench";
import { addSquares, joinWords } from "./work.mjs";
const bench = withCodSpeed(new Bench({ time: 300, iterations: 200 }));  // as long as both take
bench.add("addSquares", () => { addSquares(); });
bench.add("joinWords", () => { joinWords(); });
await bench.run();
JS
# Optimized code comes and goes. V8 puts other code at its address, and a perf map has no times: an old frame of the client would have the name of a
# function that was compiled since (docs/symbols.md: newest entry first).
stay=(--no-opt --no-maglev)
cat >vitest.config.mjs <<'JS'
import codspeed from "@codspeed/vitest-plugin";
const execArgv = ["--no-opt", "--no-maglev"];
export default { plugins: [codspeed()], test: { execArgv, poolOptions: { forks: { execArgv } } } };
JS
for file in one two; do
  cat >src/$file.bench.mjs <<'JS'
import { bench, describe } from "vitest";
import { addSquares, joinWords } from "../work.mjs";
describe("group", () => {
  bench("addSquares", () => { addSquares(); }, { time: 300, iterations: 200 });
  bench("joinWords", () => { joinWords(); }, { time: 300, iterations: 200 });
});
JS
done
cat >direct.cjs <<'JS'
const { InstrumentHooks } = require("@codspeed/core");
const { spawnSync } = require("child_process");
const [first, count] = process.argv.slice(2).map(Number);
if (count > 1) {
  for (let i = 0; i < count; i++) if (spawnSync(process.execPath, [__filename, i, 1], { stdio: "inherit" }).status !== 0) process.exit(1);
  process.exit(0);
}
if (!InstrumentHooks.isInstrumented()) process.exit(2);
InstrumentHooks.setIntegration("direct", "1");
const work = new Function(`return function work_${first}() { let s = 0; for (let i = 0; i < 20000; i++) s += Math.sqrt(i * 3.7) % 7; try { return s; } finally { s = 0; } }`)();
for (let i = 0; i < 3; i++) {
  InstrumentHooks.startBenchmark();
  const begin = process.cpuUsage();
  while (process.cpuUsage(begin).user < 60000) work();
  InstrumentHooks.stopBenchmark();
  InstrumentHooks.setExecutedBenchmark(process.pid, `direct.cjs::work_${first}[${i}]`);
}
JS
flags=(--perf-basic-prof-only-functions --interpreted-frames-native-stack --allow-natives-syntax "${stay[@]}")
"$CICADA" bench -q -o tinybench -- "$node" "${flags[@]}" bench.mjs >out 2>err || fail "tinybench ended with $?"
PATH=$(dirname "$node"):$PATH "$CICADA" bench -q -o vitest -- "$node" node_modules/vitest/vitest.mjs bench --run >out 2>err || fail "vitest ended with $?"
"$CICADA" bench -q -o direct -- "$node" "${flags[@]}" direct.cjs 0 6 >out 2>err || fail "the client alone ended with $?"
python3 -B - "$LIVE" <<'PY' || fail "benchmarks of real clients"
import json, sys
sys.path.insert(0, sys.argv[1])
from bench_pages import read_page
wanted = {
    "tinybench": {f"bench.mjs::{name}": name for name in ("addSquares", "joinWords")},
    "vitest": {f"src/{file}.bench.mjs::group::{name}": name for file in ("one", "two") for name in ("addSquares", "joinWords")},
    "direct": {f"direct.cjs::work_{process}[{i}]": f"work_{process}" for process in range(6) for i in range(3)},
}
faults = []
for directory, names in wanted.items():
    found = {one["uri"]: one for one in json.load(open(f"{directory}/bench.json"))["benchmarks"]}
    # The name in the FIFO is not always that in the file: vitest's can lack file and group.
    found = {uri: found.get(uri) or found.get("::" + uri.rsplit("::")[-1]) for uri in names}
    for uri, one in found.items():
        if one is None:
            faults.append(f"{directory}: no {uri}")
            continue
        run = one["runs"][0]
        nodes, stacks = read_page(f"{directory}/{one['flame_graph']}")
        if not any(names[uri] + " " in node for node in nodes):
            faults.append(f"{uri}: no frame {names[uri]} among {sorted(nodes)[:30]}")
        strangers = {name for name in names.values() if name != names[uri] and any(name + " " in node for node in nodes)}
        if strangers:
            faults.append(f"{uri}: frames of {strangers}")
        if run["samples"] < 5 or run["whole_stacks"] < 0.98 * run["user_stacks"]:
            faults.append(f"{uri}: {run['samples']} samples, {run['whole_stacks']} of {run['user_stacks']} stacks whole")
        if directory != "direct" and (one["source"] != "client" or not run["client"]["median_ns"] > 0 or one["creator"] != "codspeed-node 5.7.1"):
            faults.append(f"{uri}: {one['source']} {run.get('client')}")
print("\n".join(faults))
sys.exit(1 if faults else 0)
PY
