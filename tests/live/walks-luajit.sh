#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# LuaJIT: all of its interpreter has one row of call-frame information, also the begins and ends of functions in it, and the code that it generates has none. Lua below five
# C functions that call Lua: each leaves a frame of the interpreter, or of generated code.
source "$(dirname "$0")/lib.sh"
command -v luajit >/dev/null || skip "no luajit"
cat >nested.lua <<'L'
local function work()
  local count, words = {}, {}
  for i = 1, 3000 do local word = ("word" .. i * 7919 % 10007):upper(); count[word] = (count[word] or 0) + math.floor(i / 3) end
  for word in pairs(count) do words[#words + 1] = word end
  table.sort(words, function(a, b) return count[a] < count[b] end)
  for i = 1, 100000 do count[i % 100] = (count[i % 100] or 0) + i % 7 end
  for i = 1, 20000 do if i % 7 == 0 then next(count) end end
end
local function nest(depth)
  if depth == 0 then work() else string.gsub("x", "x", function() nest(depth - 1) end) end
end
while os.clock() < tonumber(arg[1]) do nest(5) end
L
for mode in off on; do
  "$CICADA" record -q -F 997 -o $mode.cicada luajit -j$mode nested.lua 3 2>err.txt || fail "record: $(<err.txt)"
  "$CICADA" convert -q $mode.cicada $mode.folded
  # The main chunk, which lua_pcall calls, is called by one frame of the interpreter, and there are six Lua functions below. The one in whose place generated code runs has no frame.
  awk -v mode=$mode '
    { samples = $NF; sub(/ [0-9]+$/, ""); n = split($0, frames, ";"); delete seen; most = 0
      for (i = 1; i <= n; i++) if (frames[i] != "[jit]" && ++seen[frames[i]] > most) most = seen[frames[i]]
      all += samples
      if (/^\[(incomplete|truncated)/) { cut += samples; print }
      if (/\[jit\]/) generated += samples
      if (most + (/\[jit\]/ ? 1 : 0) >= 7) deep += samples }
    END { exit all < 1000 || cut > all / 1000 || deep < 0.9 * all || (mode == "on" && generated < 0.3 * all) }' $mode.folded >cut.txt || fail "-j$mode: $(head -3 cut.txt) $(head -3 $mode.folded)"
done
