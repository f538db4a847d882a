// SPDX-License-Identifier: Apache-2.0
// A tree to look at: {parent, frame, self, total, before?, heat?, origin} with a parent before its children and the root at 0.
// `origin` leads back to the profile's nodes.

export function sumTotals(parent, self) {
  const total = Float64Array.from(self);
  for (let i = total.length; --i > 0;) total[parent[i]] += total[i];
  return total;
}

export function callTree(profile, self) {
  const {nodes: {parent, frame}, values: {rest, before, heat}} = profile;
  return {parent, frame, self, total: sumTotals(parent, self.map((value, i) => value + rest[i])), before: before && sumTotals(parent, before), heat, origin: null};
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
