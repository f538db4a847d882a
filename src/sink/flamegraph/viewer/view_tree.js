// SPDX-License-Identifier: Apache-2.0
// Trees to look at (call_tree.js): the calls of the selected samples, below groups, the callers of one function, its callees.

import { sumTotals } from './call_tree.js';
import { groupKind, jitKind, kernelKind, markerKind } from './profile_data.js';

// What samples count in trees and lists: their values, or what time has left of them.
const weightsOf = profile => profile.weights || profile.samples.value;

// Values of the samples that a selection {from, to, threads} keeps, per node.
export function selectedSelf(profile, selection) {
  const {thread, node} = profile.samples, value = weightsOf(profile);
  if (!value.length) return profile.values.self;
  const self = new Float64Array(profile.nodes.parent.length), [begin, end] = profile.samplesBetween(selection.from, selection.to);
  for (let i = begin; i < end; ++i)
    if (!selection.threads || selection.threads.has(thread[i])) self[node[i]] += value[i];
  return self;
}

// The same, per key below `size`; `keys` has one for each sample.
export function sumBy(profile, selection, keys, size) {
  const {thread} = profile.samples, value = weightsOf(profile), sums = new Float64Array(size), [begin, end] = profile.samplesBetween(selection.from, selection.to);
  for (let i = begin; i < end; ++i)
    if (!selection.threads || selection.threads.has(thread[i])) sums[keys[i]] += value[i];
  return sums;
}

// In which state the largest part of what is under each node was waited, if samples say so (1 + its number). nodeOf(node, sample): where a sample is in the tree.
export function statesOf(profile, selection, {parent, frame}, nodeOf) {
  const {state, thread, node} = profile.samples, value = weightsOf(profile), count = profile.states.length;
  if (!state || !count) return null;
  const sums = new Float64Array(parent.length * count), most = new Uint8Array(parent.length), [begin, end] = profile.samplesBetween(selection.from, selection.to);
  for (let i = begin; i < end; ++i)
    if (state[i] && (!selection.threads || selection.threads.has(thread[i]))) sums[nodeOf(node[i], i) * count + state[i] - 1] += value[i];
  for (let at = parent.length; at-- > 0;) {  // a parent stands before its children
    let largest = 0;
    for (let s = 0; s < count; ++s) {
      const sum = sums[at * count + s];
      if (sum > largest) { largest = sum; most[at] = s + 1; }
      if (at) sums[parent[at] * count + s] += sum;
    }
    if (!at || profile.frames.kind[frame[at]] === markerKind) most[at] = 0;
  }
  return most;
}

// What a sample is put under: a text for people, the same as `--group-by` writes.
const groupings = {
  program: (profile, i) => profile.processes[profile.threads[profile.samples.thread[i]].process]?.name || '[unknown]',
  process: (profile, i) => profile.processText(profile.threads[profile.samples.thread[i]].process),
  thread: (profile, i) => profile.threadText(profile.samples.thread[i]),
  cpu: (profile, i) => `cpu ${profile.samples.cpu[i]}`,
  cgroup: (profile, i) => profile.processes[profile.threads[profile.samples.thread[i]].process]?.cgroup || '[no cgroup]',
};

// By node: the image of the innermost frame that has one.
function imageTexts(profile) {
  const {parent, frame} = profile.nodes, texts = ['[unknown]'];
  for (let i = 1; i < parent.length; ++i) {
    const image = profile.functions[profile.frames.functionOf[frame[i]]].image, kind = profile.frames.kind[frame[i]];
    texts.push(image ? image.slice(image.lastIndexOf('/') + 1) : kind === kernelKind ? '[kernel]' : kind === jitKind ? '[jit]' : texts[parent[i]]);
  }
  return texts;
}

// The calls of the selected samples below one root frame for each group; groups of the recording itself are left out.
export function groupedTree(profile, selection, by) {
  const {thread, node} = profile.samples, value = weightsOf(profile), images = by === 'image' ? imageTexts(profile) : null;
  const [begin, end] = profile.samplesBetween(selection.from, selection.to);
  const keyOf = i => images ? images[node[i]] : by === 'cpu' ? profile.samples.cpu[i] : thread[i];
  const groups = new Map(), ofKey = new Map();  // a thread or a cpu has one text: it is made once
  for (let i = begin; i < end; ++i) {
    if (selection.threads && !selection.threads.has(thread[i])) continue;
    const key = keyOf(i);
    let group = ofKey.get(key);
    if (!group) {
      const text = images ? key : groupings[by](profile, i);
      if (!groups.has(text)) groups.set(text, new Map());
      ofKey.set(key, group = groups.get(text));
    }
    group.set(node[i], (group.get(node[i]) || 0) + value[i]);
  }
  const parent = [0], frame = [profile.nodes.frame[0]], self = [0], place = new Uint32Array(profile.nodes.parent.length), stamp = new Int32Array(place.length).fill(-1);
  let nth = 0;
  for (const text of [...groups.keys()].sort()) {
    const root = parent.push(0) - 1, wanted = [];
    frame.push(profile.groupFrame(text));
    self.push(0);
    place[0] = root;
    stamp[0] = nth;
    for (let i of groups.get(text).keys())
      for (; stamp[i] !== nth; i = profile.nodes.parent[i]) { stamp[i] = nth; wanted.push(i); }
    for (const i of Uint32Array.from(wanted).sort()) {  // a parent stands before its children
      const above = place[profile.nodes.parent[i]], of = profile.nodes.frame[i];
      if (profile.frames.kind[of] === groupKind) { place[i] = above; continue; }
      place[i] = parent.push(above) - 1;
      frame.push(of);
      self.push(0);
    }
    for (const [i, sum] of groups.get(text)) { self[place[i]] += sum; groups.get(text).set(i, place[i]); }
    ++nth;
  }
  const made = {parent: Uint32Array.from(parent), frame: Uint32Array.from(frame), self: Float64Array.from(self), before: null, origin: null};
  const states = statesOf(profile, selection, made, (at, i) => ofKey.get(keyOf(i)).get(at));
  return {...made, states, total: sumTotals(made.parent, made.self)};
}

// Self and total of each function; a recursive one counts once.
export function functionTotals(profile, tree) {
  const {functionOf} = profile.frames, self = new Float64Array(profile.functions.length), total = new Float64Array(self.length);
  for (let i = 1; i < tree.parent.length; ++i) {
    if (!tree.total[i]) continue;
    const f = functionOf[tree.frame[i]];
    self[f] += tree.self[i];
    if (!under(tree, functionOf, tree.parent[i], f)) total[f] += tree.total[i];
  }
  return {self, total};
}
function under(tree, functionOf, i, f) {
  for (; i > 0; i = tree.parent[i]) if (functionOf[tree.frame[i]] === f) return true;
  return false;
}

class Merger {
  constructor(frame) { this.parent = [0]; this.frame = [frame]; this.self = [0]; this.origin = [0]; this.children = new Map(); }
  child(parent, frame, f, origin) {
    const key = parent * 67108864 + f;
    let at = this.children.get(key);
    if (at === undefined) {
      at = this.parent.length;
      this.parent.push(parent); this.frame.push(frame); this.self.push(0); this.origin.push(origin);
      this.children.set(key, at);
    }
    return at;
  }
  tree(of) {
    const parent = Uint32Array.from(this.parent), self = Float64Array.from(this.self);
    return {parent, frame: Uint32Array.from(this.frame), self, total: sumTotals(parent, self), before: null, origin: Uint32Array.from(this.origin), states: of.states && Uint8Array.from(this.origin, at => of.states[at])};
  }
}

// Whoever called function f, outwards, weighted with the time f took on their behalf.
export function callersOf(profile, tree, f) {
  const {functionOf} = profile.frames, merger = new Merger(profile.functions[f].frame);
  for (let i = 1; i < tree.parent.length; ++i) {
    if (functionOf[tree.frame[i]] !== f || !tree.total[i] || under(tree, functionOf, tree.parent[i], f)) continue;
    let at = 0;
    for (let up = tree.parent[i]; up > 0; up = tree.parent[up]) at = merger.child(at, tree.frame[up], functionOf[tree.frame[up]], up);
    merger.self[at] += tree.total[i];
  }
  return merger.tree(tree);
}

// Whatever function f called, merged over all places it is called from.
export function calleesOf(profile, tree, f) {
  const {functionOf} = profile.frames, merger = new Merger(profile.functions[f].frame), place = new Int32Array(tree.parent.length).fill(-1);
  for (let i = 1; i < tree.parent.length; ++i) {
    if (!tree.total[i]) continue;
    const own = functionOf[tree.frame[i]], above = place[tree.parent[i]];
    place[i] = above >= 0 ? merger.child(above, tree.frame[i], own, i) : own === f ? 0 : -1;
    if (place[i] >= 0) merger.self[place[i]] += tree.self[i];
  }
  return merger.tree(tree);
}
