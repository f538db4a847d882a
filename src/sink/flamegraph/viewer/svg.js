// SPDX-License-Identifier: Apache-2.0
// Makes the picture answer: the report's flame graph takes its place, for the window's width and for the frame one looks at.
import { byId, element } from './format.js';
import { embeddedEvents, unpackProfile } from './profile_data.js';
import { callTree } from './call_tree.js';
import { Search } from './search.js';
import { flameActions, FlameView } from './flame_view.js';
import { showLegend } from './legend.js';

async function answer() {
  const [packed] = embeddedEvents(), profile = await unpackProfile(packed), {about} = profile, svg = document.documentElement;
  const button = (id, title, text) => element('button', {id, title}, text), canvas = element('canvas', {tabIndex: 0, 'aria-label': 'Flame graph'});
  const page = element('div', {id: 'page'},
      element('header', {}, element('div', {className: 'words'}, element('h1', {id: 'title'}, about.title), element('p', {id: 'subtitle'}, about.subtitle), element('p', {}, about.notes.join(' · '))),
          element('div', {className: 'find'}, element('span', {id: 'matched'}), element('input', {id: 'search', type: 'search', placeholder: 'Search (regex)   /', 'aria-label': 'Search frames by regular expression', spellcheck: false})),
          button('side', 'Whose widths are drawn (b)', ''), button('names', 'Long or short names (l)', 'Short names'), button('direction', 'Root at the top or at the bottom (f)', 'Flip')),
      element('div', {className: 'zoom'}, element('div', {id: 'path'}), button('reset', 'Escape', 'Reset zoom')), element('div', {className: 'pane'}, canvas), element('footer', {}, element('div', {id: 'legend'})), element('div', {id: 'tip', hidden: true}));
  const whole = document.createElementNS(svg.namespaceURI, 'foreignObject');
  whole.append(page);
  for (const node of [svg, whole]) { node.setAttribute('width', '100%'); node.setAttribute('height', '100%'); }
  svg.removeAttribute('viewBox');
  svg.querySelector('#picture').remove();
  svg.append(whole);

  const theme = {}, style = getComputedStyle(svg);
  const readTheme = () => { for (const name of ['page', 'ink', 'soft']) theme[name] = style.getPropertyValue('--' + name).trim(); };
  readTheme();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readTheme(); flame.redraw(); });
  const tree = callTree(profile, profile.values.self);
  let byBefore = false;
  const search = new Search(byId('search'), byId('matched'), profile, () => { search.showShare(tree); flame.redraw(); });
  const flame = new FlameView(canvas, byId('tip'), profile, {theme: () => theme, matches: () => search.matches, zoomed: () => {
    flame.showPath(byId('path'));
  }, moved: () => { byId('reset').hidden = flame.whole; }});
  const show = () => { flame.show(tree, 'name', byBefore); byId('side').textContent = byBefore ? 'Width: before' : 'Width: after'; };
  const actions = {...flameActions(() => flame), '/': () => byId('search').focus(), b: () => { byBefore = !byBefore && about.comparison; show(); },
    l: () => { profile.shown.full = !profile.shown.full; byId('names').textContent = profile.shown.full ? 'Full names' : 'Short names'; flame.showPath(byId('path')); flame.redraw(); },
    f: () => { flame.view.upward = !flame.view.upward; flame.redraw(); }, i: () => actions.f(), Escape: () => search.text ? search.set('') : flame.zoomTo(0)};
  for (const [id, key] of [['side', 'b'], ['direction', 'f'], ['names', 'l'], ['reset', 'Escape']]) byId(id).onclick = actions[key];
  byId('side').hidden = !about.comparison;
  showLegend(byId('legend'), profile, tree);
  addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || search.key(event, () => flame.nextMatch(1)) || (event.target.tagName === 'button' && event.key === 'Enter')) return;
    if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
  });
  show();
  flame.zoomTo(0, false);
  globalThis.cicada = {profile, flame};
}
answer();
