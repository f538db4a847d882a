// SPDX-License-Identifier: Apache-2.0
// Trees to look at, each {parent, frame, self, total, before?, origin} with a parent before its children and the root at 0:
// the calls of the selected samples, the callers of one function, its callees. `origin` leads back to the profile's nodes.

// Values of the samples that a selection {from, to, threads} keeps, per node.
export function selectedSelf(profile, selection) {
  if (profile.before) return profile.self;
  const {time, thread, node, value} = profile.samples, self = new Float64Array(profile.nodes.parent.length);
  const begin = selection.from === null ? 0 : firstAtLeast(time, selection.from);
  const end = selection.from === null ? time.length : firstAtLeast(time, selection.to);
  for (let i = begin; i < end; ++i)
    if (!selection.threads || selection.threads.has(thread[i])) self[node[i]] += value[i];
  return self;
}

export function firstAtLeast(sorted, wanted) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < wanted) low = middle + 1; else high = middle;
  }
  return low;
}

function sumTotals(parent, self) {
  const total = Float64Array.from(self);
  for (let i = total.length; --i > 0;) total[parent[i]] += total[i];
  return total;
}

export function callTree(profile, self) {
  const {parent, frame} = profile.nodes;
  return {parent, frame, self, total: sumTotals(parent, self), before: profile.before && sumTotals(parent, profile.before),
          origin: null};
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
  tree() {
    const parent = Uint32Array.from(this.parent), self = Float64Array.from(this.self);
    return {parent, frame: Uint32Array.from(this.frame), self, total: sumTotals(parent, self), before: null, origin: Uint32Array.from(this.origin)};
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
  return merger.tree();
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
  return merger.tree();
}

// Value under matching functions, nested matches once.
export function matchedTotal(profile, tree, matches) {
  const {functionOf} = profile.frames, inside = new Uint8Array(tree.parent.length);
  let sum = 0;
  for (let i = 1; i < tree.parent.length; ++i) {
    if (inside[tree.parent[i]]) { inside[i] = 1; continue; }
    if (matches[functionOf[tree.frame[i]]]) { inside[i] = 1; sum += tree.total[i]; }
  }
  return sum;
}
