// SPDX-License-Identifier: Apache-2.0
// Colours by kind of frame, four shades each (the same as in svg.css), and of differences.
export const kinds = [
  {name: 'all', shades: ['#c9d1de', '#bfc8d7', '#d3dae5', '#b7c1d1']},
  {name: 'group', shades: ['#c9d1de', '#bfc8d7', '#d3dae5', '#b7c1d1']},
  {name: 'native', shades: ['#ffb067', '#ffa457', '#ffbc7d', '#fb9a4b']},
  {name: 'library', shades: ['#ffd966', '#f8cd4f', '#ffe187', '#f1c644']},
  {name: 'inlined', shades: ['#ffd9bd', '#ffd0ae', '#ffe2cc', '#fbc9a4']},
  {name: 'JIT', shades: ['#8fdcae', '#7fd3a1', '#a3e4bd', '#73c996']},
  {name: 'interpreted', shades: ['#8edbd8', '#7dd1ce', '#a4e4e1', '#72c7c4']},
  {name: 'kernel', shades: ['#a9b8ff', '#9badfa', '#b9c5ff', '#8fa3f5']},
  {name: 'marker', shades: ['#e0b4ea', '#d8a6e4', '#e8c4f0', '#d19bdf']},
  {name: 'unknown', shades: ['#d5d5d5', '#cbcbcb', '#dedede', '#c3c3c3']},
];
export const hitColour = '#c2187a';
export const inlinedKind = 4;

// 33 steps from blue (less) over grey to red (more).
const heatSteps = Array.from({length: 33}, (_, i) => {
  const d = i / 16 - 1, at = Math.sqrt(Math.abs(d)), end = d >= 0 ? [240, 84, 70] : [84, 132, 240];
  return `rgb(${[236, 232, 228].map((from, channel) => Math.round(from + (end[channel] - from) * at))})`;
});
// Pale where the samples do not carry the difference (below three standard errors).
export function heat(after, before, allAfter, allBefore) {
  const a = after / (allAfter || 1), b = before / (allBefore || 1);
  const error = Math.sqrt(a / (allAfter || 1) + b / (allBefore || 1)) || 1;
  const d = (a - b) / (Math.max(a, b) || 1) * Math.min(1, Math.abs(a - b) / error / 3);
  return heatSteps[Math.round((d + 1) * 16)];
}
