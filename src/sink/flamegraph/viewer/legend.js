// SPDX-License-Identifier: Apache-2.0
// Which colour is what, and how much of the tree was spent there itself.
import { element, share } from './format.js';

export function showLegend(legend, profile, tree) {
  const sums = new Float64Array(profile.kinds.length), {heat} = profile.about;
  const entry = (colour, text) => {
    const swatch = element('i');
    swatch.style.background = colour;
    legend.append(element('span', {}, swatch, text));
  };
  legend.replaceChildren();
  if (heat) return [[heat.length - 1, 'more than before'], [0, 'less than before']].forEach(([step, text]) => entry(heat[step], text));
  for (let i = 0; i < tree.self.length; ++i) sums[profile.frames.kind[tree.frame[i]]] += tree.self[i];
  sums.forEach((sum, kind) => { if (sum && kind > 1) entry(profile.kinds[kind].shades[0], `${profile.kinds[kind].name} ${share(sum, tree.total[0])}`); });
}
