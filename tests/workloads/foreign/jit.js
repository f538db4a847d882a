// SPDX-License-Identifier: Apache-2.0
// Generated code, V8's own C++ (JSON.parse calls the reviver back), generated code again. Run with --perf-basic-prof.
'use strict';
const seconds = Number(process.argv[2] || 2);
let sink = 0;
function revive(key, value) {
  for (let i = 0; i < 2000; i++) sink = (sink * 31 + i) | 0;
  return value;
}
function parseMuch(text) {
  return JSON.parse(text, revive);
}
const text = JSON.stringify(Array.from({length: 200}, (_, i) => i));
console.log('through _start;~main|__libc_start_main.*;~node::Start\\(.*;~.*parseMuch.*;~v8::internal::.*Json.*;~.*revive.*');
console.log('share ~.*revive.* 60');
console.log('complete');
const end = Date.now() + seconds * 1000;
while (Date.now() < end) parseMuch(text);
