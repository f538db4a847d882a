// SPDX-License-Identifier: Apache-2.0
// Which colour is what, and how much of the tree was spent there itself. What ended a wait counts as that wait.
import { element, share } from './format.js';
import { groupKind, markerKind } from './profile_data.js';

export function showLegend(legend, profile, tree) {
  const {about: {heat}, states} = profile, sums = new Map(), waited = [], wakes = new Set();
  const entry = (colour, text) => {
    const swatch = element('i');
    swatch.style.background = colour;
    legend.append(element('span', {}, swatch, text));
  };
  legend.replaceChildren();
  if (heat) return [[heat.length - 1, 'more than before'], [0, 'less than before']].forEach(([step, text]) => entry(heat[step], text));
  for (let i = 1; i < tree.self.length; ++i) {
    const style = profile.styleOf(tree, i);
    waited[i] = profile.stateOf(tree, i) ? style : waited[tree.parent[i]];
    if (!tree.self[i]) continue;
    const counted = waited[i] || style;
    sums.set(counted, (sums.get(counted) || 0) + tree.self[i]);
    if (counted !== style && style !== profile.kinds[markerKind]) wakes.add(style);
  }
  for (const style of [...states, ...profile.kinds.slice(groupKind + 1)])
    if (sums.has(style)) entry(style.shades[0], `${style.name} ${share(sums.get(style), tree.total[0])}`);
    else if (wakes.has(style)) entry(style.shades[0], `${style.name} of wakers`);
}
