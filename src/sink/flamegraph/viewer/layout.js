// SPDX-License-Identifier: Apache-2.0
// Where each node of a tree is: breadth first, so that the children of a node are neighbours, with starts in value units.
// A renderer finds what is visible by binary search and never touches what is narrower than a pixel.

// order: 'heavy' (largest first) or 'name'. Nodes without value have no place.
export function layOut(tree, profile, order, weights = tree.total) {
  const {parent, frame} = tree, count = parent.length, begin = new Uint32Array(count + 1);
  for (let i = 1; i < count; ++i) if (weights[i] > 0) ++begin[parent[i] + 1];
  for (let i = 0; i < count; ++i) begin[i + 1] += begin[i];
  const children = new Uint32Array(begin[count]), fill = begin.slice();
  for (let i = 1; i < count; ++i) if (weights[i] > 0) children[fill[parent[i]]++] = i;

  const {functionOf} = profile.frames, rank = order === 'name' ? profile.rank : null;
  const compare = rank ? (a, b) => rank[functionOf[frame[a]]] - rank[functionOf[frame[b]]] || a - b
                       : (a, b) => weights[b] - weights[a] || functionOf[frame[a]] - functionOf[frame[b]] || a - b;
  const places = begin[count] + 1, node = new Uint32Array(places), start = new Float64Array(places), end = new Float64Array(places),
        firstChild = new Uint32Array(places + 1), rows = [0];
  end[0] = weights[0];
  let filled = 1;
  for (let at = 0, rowEnd = 1; at < places; ++at) {
    if (at === rowEnd) { rows.push(at); rowEnd = filled; }
    const of = node[at], slice = children.subarray(begin[of], begin[of + 1]);
    if (slice.length > 1) slice.length < 24 ? insertionSort(slice, compare) : slice.sort(compare);
    firstChild[at] = filled;
    let x = start[at];
    for (let i = 0; i < slice.length; ++i) {
      node[filled] = slice[i];
      start[filled] = x;
      end[filled++] = x += weights[slice[i]];
    }
  }
  firstChild[places] = filled;
  return {node, start, end, firstChild, rows, depth: rows.length, weights};
}

function insertionSort(slice, compare) {
  for (let i = 1; i < slice.length; ++i) {
    const moving = slice[i];
    let at = i;
    for (; at > 0 && compare(slice[at - 1], moving) > 0; --at) slice[at] = slice[at - 1];
    slice[at] = moving;
  }
}

// The first place in [low, high) that ends after x.
export function firstEndingAfter(layout, low, high, x) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (layout.end[middle] <= x) low = middle + 1; else high = middle;
  }
  return low;
}

export function placeOf(layout, node) {
  return layout.node.indexOf(node);
}

// The place at depth `row` that covers x, or -1.
export function placeAt(layout, row, x) {
  let at = 0;
  for (let depth = 0; ; ++depth) {
    if (x < layout.start[at] || x >= layout.end[at]) return -1;
    if (depth === row) return at;
    const low = layout.firstChild[at], high = layout.firstChild[at + 1];
    at = firstEndingAfter(layout, low, high, x);
    if (at === high) return -1;
  }
}
