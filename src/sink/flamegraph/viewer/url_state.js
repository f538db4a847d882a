// SPDX-License-Identifier: Apache-2.0
// What is being looked at, in the fragment of the address: a link shows others the same.
const defaults = {view: 'flame', q: '', order: 'heavy', up: '', z: '', f: '', t: '', th: '', by: '', g: '', e: '', w: '', l: '', m: '', s: ''};

let known;  // the fragment that `state` was read from or written to
export function readState() {
  known = location.hash;
  const state = {...defaults};
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) if (key in defaults) state[key] = value;
  return state;
}
// A set of numbers below `size`, as those that are in it or as those that are not.
export function writeSet(set, size) {
  const others = [...Array(size).keys()].filter(i => !set.has(i));
  return others.length < set.size ? '!' + others.join('.') : [...set].join('.') || '-';
}
export function readSet(text, size) {
  const named = new Set((text.match(/\d+/g) || []).map(Number));
  return text[0] === '!' ? new Set([...Array(size).keys()].filter(i => !named.has(i))) : named;
}
// `sameStep`: what is looked at is the same, with other numbers.
export function writeState(state, sameStep) {
  const kept = Object.entries(state).filter(([key, value]) => key in defaults && String(value) !== defaults[key]);
  const hash = kept.length ? '#' + new URLSearchParams(kept.map(([key, value]) => [key, String(value)])) : '';
  if (hash === location.hash || location.hash !== known) return;  // one that is new is read first: its event is on the way
  // A view, a zoom or a grouping is a step that one may go back from; what is typed or dragged is not.
  const shown = readState(), step = ['view', 'z', 'g'].some(key => String(state[key]) !== shown[key]);
  history[step && !sameStep ? 'pushState' : 'replaceState'](null, '', hash || '#');
  known = location.hash;
}
