#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// What the live page makes of messages (live_source.js), without a browser: samples come late, several updates come in one message, old ones are dropped; what was handed out stays as it was.
import { gzipSync } from 'node:zlib';
import { LiveSource } from '../../src/sink/flamegraph/viewer/live_source.js';
import { check, finish } from './browser.mjs';

const kept = 3000, rows = [];  // all that were sent: [time, thread, leaf, value, cpu]
let seed = 7;
const random = below => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 2147483648 * below); };

function message(from, dropped) {
  const begin = Math.max(from, dropped), numbers = [], tables = {anew: from === 0, first: from === 0 ? [0, 0, 0, begin] : [2, 1, 1, begin], dropped, states: false, ended: '', recorder: {}, events: ['cpu'],
    names: from ? [] : ['', 'main'], frames: from ? [] : [1, 0, 0, -1], processes: [], threads: from ? [] : [[0, {process: 0, tid: 1, name: 'x'}]]};
  const put = number => { let rest = BigInt(number); do { numbers.push(Number(rest & 127n) | (rest > 127n ? 128 : 0)); rest >>= 7n; } while (rest > 0n); };
  for (const number of from ? [0] : [1, 0, 0]) put(number);
  for (const number of from ? [0] : [1, 0, 0]) put(number);
  let before = begin ? rows[begin - 1][0] : 0;
  put(rows.length - begin);
  put(before);
  for (const [time, ...others] of rows.slice(begin)) {
    put(time < before ? 2 * (before - time) - 1 : 2 * (time - before));
    before = time;
    for (const number of others) put(number);
  }
  const text = Buffer.from(JSON.stringify(tables)), size = Buffer.alloc(4);
  size.writeUInt32LE(text.length);
  return {live: '1.1.' + rows.length, unit: 'samples', kinds: [], payload: gzipSync(Buffer.concat([size, text, Buffer.from(numbers)])).toString('base64')};
}
// In order of time; those of one moment as they came.
const truth = dropped => rows.slice(dropped).map((row, i) => [...row, i]).sort((a, b) => a[0] - b[0] || a[5] - b[5]).map(row => row.slice(0, 5));
const shown = ({samples: {time, thread, node, value, cpu}}) => Array.from(time, (at, i) => [at, thread[i], node[i], value[i], cpu[i]]);
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

const page = new LiveSource(), seldom = new LiveSource();
let now = 5e9, late = 0, took = true, right = true, stays = true, frozen, frozenRows, has = [0, 0];
for (let step = 0; step < 80; ++step) {
  for (let i = 0; i < 150; ++i) {
    now += random(2000);
    const time = step % 3 && random(10) === 0 ? now - random(1e6) : now;  // no late ones in every third
    late += time < now;
    rows.push([time, 0, 0, 1 + random(3), random(4)]);
  }
  const dropped = Math.max(0, rows.length - kept);
  for (const [i, one] of [page, seldom].entries()) {
    if (i && step % 5 !== 4 && step !== 79 || (i && step > 20 && step < 60)) continue;  // away for longer than what is kept
    took = await one.take(message(has[i], dropped)) && took;
    has[i] = rows.length;
    right = same(shown(one.profile()), truth(dropped)) && right;
  }
  if (step === 30) { frozen = page.profile(); frozenRows = shown(frozen); }
  if (step > 30) stays = same(shown(frozen), frozenRows) && stays;
}
check(late > 500, 'samples came late', late);
check(took, 'each message follows those before');
check(right, 'each sample is where it belongs, and those that are dropped are gone');
check(stays, 'a frozen view keeps what it shows');
check(page.profile().begin === page.profile().samples.time[0], 'the time line begins where samples do');
check(await page.take(message(rows.length - 10, 0)) === false, 'what does not follow is not taken');
finish();
