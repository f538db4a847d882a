// SPDX-License-Identifier: Apache-2.0
// The data source of the pages: unpacks what packed_profile.cc wrote (docs/viewer.md has the layout). Views see only the Profile it
// returns, so that the live view has another source (live_source.js).
//
// Profile: kinds and states {name, shades}, names[], functions {name, image, frame}, shown (their names as drawn), frames {functionOf, state, kind, shade, where}, nodes {parent, frame},
// samples {time, thread, node, value, cpu} sorted by time in µs from the start, threads, processes. Without samples: the nodes'
// values {self, rest (of what was left out below), before and heat (in a comparison)}.

import { amount, duration, share, utilisation } from './format.js';
import { ShownNames } from './shown_names.js';

// In the order of profile::NodeKind.
export const groupKind = 1, nativeKind = 2, inlinedKind = 4, jitKind = 5, interpretedKind = 6, kernelKind = 7, markerKind = 8;

// The tables of a payload, and a reader of the numbers behind them.
export async function unpack(payload) {
  const letters = atob(payload), compressed = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; ++i) compressed[i] = letters.charCodeAt(i);
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream('gzip'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const tableBytes = new DataView(bytes.buffer).getUint32(0, true);
  return {bytes, tables: JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + tableBytes))), reader: new NumberReader(bytes, 4 + tableBytes)};
}

export async function unpackProfile(packed) {
  const {bytes, tables, reader} = await unpack(packed.payload), number = () => reader.next();
  const nodes = number(), parent = new Uint32Array(nodes), frame = new Uint32Array(nodes);
  for (let i = 0; i < nodes; ++i) { parent[i] = i - number(); frame[i] = number(); }
  const count = number(), time = new Float64Array(count), thread = new Uint32Array(count), node = new Uint32Array(count),
        value = new Float64Array(count), cpu = new Uint16Array(count);
  for (let i = 0; i < count; ++i) {
    time[i] = (i ? time[i - 1] : 0) + number();
    thread[i] = number(); node[i] = number(); value[i] = number(); cpu[i] = number();
  }
  const column = () => new Float64Array(nodes), values = {self: column(), rest: column(), before: packed.comparison ? column() : null, heat: column()};
  for (let i = 0; !count && i < nodes && reader.at < bytes.length; ++i) {
    values.self[i] = number(); values.rest[i] = number();
    if (packed.comparison) { values.before[i] = number(); values.heat[i] = number(); }
  }
  return makeProfile(packed, tables, {parent, frame}, {time, thread, node, value, cpu}, values);
}

// LEB128; beyond 2^31 only multiplication is exact.
class NumberReader {
  constructor(bytes, at) { this.bytes = bytes; this.at = at; }
  next() {
    let byte = this.bytes[this.at++];
    if (byte < 128) return byte;
    let value = byte & 127, scale = 128;
    do { byte = this.bytes[this.at++]; value += (byte & 127) * scale; scale *= 128; } while (byte & 128);
    return value;
  }
  // Those near zero are short: 0, -1, 1, -2 …
  nextSigned() { const number = this.next(); return number % 2 ? -(number + 1) / 2 : number / 2; }
}

// `shown`: of an earlier state of this profile.
export function makeProfile(about, tables, nodes, samples, values, shown = new ShownNames()) {
  const {names, frames, threads, processes} = tables;
  const frameCount = frames.length / 4, functionOf = new Uint32Array(frameCount), kind = new Uint8Array(frameCount),
        shade = new Uint8Array(frameCount), state = new Uint8Array(frameCount), where = new Int32Array(frameCount), functions = [], known = new Map();
  for (let i = 0; i < frameCount; ++i) {
    const name = frames[4 * i], image = frames[4 * i + 1], style = frames[4 * i + 2], place = frames[4 * i + 3], key = name * 4294967296 + image;
    if (!known.has(key)) { known.set(key, functions.length); functions.push({name: names[name], image: names[image], frame: i}); }
    functionOf[i] = known.get(key);
    state[i] = style >> 6; kind[i] = (style >> 2) & 15; shade[i] = style & 3; where[i] = place;
  }
  let order = null;  // of the functions by name: made when first asked for, because sorting 400,000 names takes a second
  const rankOf = () => {
    if (order) return order;
    order = new Uint32Array(functions.length);
    const sorted = functions.map((_, i) => i).sort((a, b) => functions[a].name < functions[b].name ? -1 : functions[a].name > functions[b].name ? 1 : a - b);
    sorted.forEach((f, i) => { order[f] = i; });
    return order;
  };
  const framesNow = {functionOf, state, kind, shade, where}, groupFrames = new Map();
  // The frame of a group that the reader asked for: made when it is first needed.
  function groupFrame(text) {
    if (groupFrames.has(text)) return groupFrames.get(text);
    const at = framesNow.functionOf.length, grow = (array, ...more) => { const grown = new array.constructor(at + 1); grown.set(array); grown.set(more, at); return grown; };
    functions.push({name: text, image: '', frame: at});
    order = null;
    framesNow.functionOf = grow(framesNow.functionOf, functions.length - 1);
    framesNow.state = grow(framesNow.state, 0);
    framesNow.kind = grow(framesNow.kind, groupKind);
    framesNow.shade = grow(framesNow.shade, at & 3);
    framesNow.where = grow(framesNow.where, -1);
    groupFrames.set(text, at);
    return at;
  }
  const {time, thread, node, value} = samples;
  // The samples from..to, as indices; from null: all.
  const samplesBetween = (from, to) => from === null ? [0, time.length] : [firstAtLeast(time, from), firstAtLeast(time, to)];
  const kernelNode = nodes.frame.map(of => kind[of] === kernelKind ? 1 : 0), hasSamples = new Uint8Array(threads.length);
  for (let i = 0; i < thread.length; ++i) if (value[i]) hasSamples[thread[i]] = 1;
  const processText = id => `${processes[id]?.name || '[unknown]'} (${processes[id]?.pid || 0})`;
  const threadText = t => `${threads[t].name || processes[threads[t].process]?.name || '[unknown]'} (${threads[t].tid}${threads[t].main ? ', main' : ''})`;
  const last = samples.time.length ? samples.time[samples.time.length - 1] : 0;
  shown.show(functions, f => ![groupKind, jitKind, interpretedKind, kernelKind].includes(framesNow.kind[functions[f].frame]));
  const secondsPerValue = about.seconds_per_value || 0, lasted = Math.max(about.duration_us || 0, last, 1), begin = about.begin_us || 0, timed = !!about.duration_us || last > 0;
  // CPU time and utilisation of a value in a span, if the event counts CPU time; else its amount and its share.
  function cpuTexts(value, {from, to} = {from: null}, whole = 0) {
    const seconds = value * secondsPerValue, stretch = (from === null ? this.stretch : to - from) / 1e6;
    if (!secondsPerValue) return [amount(value, about.unit), ...(whole ? [share(value, whole)] : [])];
    return [duration(seconds * 1e6), ...(timed ? [utilisation(seconds, stretch)] : [])];
  }
  // What a box of this frame looks like; of waiting by state, if it has one.
  const states = about.states || [], stateOf = (tree, node) => tree.states ? tree.states[node] : framesNow.state[tree.frame[node]];
  const styleOf = (tree, node) => stateOf(tree, node) ? states[stateOf(tree, node) - 1] : about.kinds[framesNow.kind[tree.frame[node]]];
  // Of waiting the darker ones are the kernel's.
  const colourOf = (tree, node) => { const frame = tree.frame[node], of = framesNow.shade[frame]; return styleOf(tree, node).shades[tree.states?.[node] ? (of & 1) | (framesNow.kind[frame] === kernelKind ? 2 : 0) : of]; };
  return {about, kinds: about.kinds, states, stateOf, styleOf, colourOf, names, functions, shown, get rank() { return rankOf(); }, frames: framesNow, groupFrame, nodes, samples, samplesBetween, kernelNode, hasSamples,
          values, threads, processes, processText, threadText, timed, begin, duration: lasted, stretch: lasted - begin, secondsPerValue, cpuTexts, annotations: tables.annotations || [], weights: null, wholeValue: value.reduce((sum, one) => sum + one, 0)};
}

function firstAtLeast(sorted, wanted) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < wanted) low = middle + 1; else high = middle;
  }
  return low;
}

// One object for each event, still packed.
export function embeddedEvents() {
  const embedded = JSON.parse(document.getElementById('profile').textContent);
  return Array.isArray(embedded) ? embedded : [embedded];
}
