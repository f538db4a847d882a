// SPDX-License-Identifier: Apache-2.0
// Wires the selection and the views of a profile. Every view is a function of the state, and the state is in the address.
import { amountWithUnit, byId, element, share, shorten } from './format.js';
import { callTree } from './call_tree.js';
import { calleesOf, callersOf, functionTotals, groupedTree, selectedSelf, statesOf } from './view_tree.js';
import { Search } from './search.js';
import { showLegend } from './legend.js';
import { readSet, readState, writeSet, writeState } from './url_state.js';
import { explainNode, flameActions, FlameView } from './flame_view.js';
import { TableView } from './table_view.js';
import { TimeWindow } from './time_axis.js';
import { TimelineView } from './timeline_view.js';
import { TracksView } from './tracks_view.js';
import { SourceView } from './source_view.js';
import { ProcessView } from './process_view.js';

const keyHelp = [
  ['/', 'search; n and N: next and previous match'], ['1 2 3 4 5', 'flame graph, functions, callers & callees, tracks, source'],
  ['← → ↑ ↓', 'move the selection'], ['Enter', 'zoom to the selected frame, open the selected function'],
  ['Backspace', 'zoom out to the parent'], ['+ − w s', 'zoom in and out'], ['a e', 'pan left and right'],
  ['Escape', 'clear the search, reset zoom, then the selected span'], ['o', 'order of siblings'], ['l', 'long or short names'], ['i', 'icicle or flames'], ['b', 'widths of before or after'],
  ['g', 'root frames: program, process, thread, CPU, cgroup, image'],
  ['c', 'copy the stack'], ['d', 'dark or light'], ['?', 'this list'],
  ['wheel, drag', 'scroll, pan; ctrl+wheel zooms at the pointer'], ['drag in the time line', 'select a span; a click clears it; the wheel zooms'], ['z', 'time line: zoom to the span, and back'],
  ['t', 'to the time line; there ← → move the span, with shift its end, + − zoom']];

const views = ['flame', 'table', 'sandwich', 'tracks', 'source'];

// `events`: their names. What comes back is for tests, and update(): the same profile, some moments later.
export function start(profile, events) {
  const state = readState(), tip = byId('tip');
  const selection = {from: null, to: null, threads: null};
  let tree, totals, dirty = {}, picked = null, theme = {};
  function showCaption() {
    const {title, subtitle, notes} = profile.about;
    document.title = byId('title').textContent = title;
    byId('subtitle').title = byId('subtitle').textContent = [subtitle, ...notes].filter(Boolean).join(' · ');
  }

  function applyTheme(dark) {
    document.documentElement.classList.toggle('dark', dark);
    const style = getComputedStyle(document.documentElement);
    for (const name of ['page', 'ink', 'soft', 'line', 'accent']) theme[name] = style.getPropertyValue('--' + name).trim();
  }
  const preference = matchMedia('(prefers-color-scheme: dark)');
  applyTheme(preference.matches);

  const search = new Search(byId('search'), byId('matched'), profile, () => {
    state.q = search.text;
    search.showShare(tree);
    for (const view of [flame, callers, callees]) view.redraw();
    dirty.table = true;
    if (state.view === 'table') showView();
    save();
  });
  const common = {theme: () => theme, matches: () => search.matches};
  const flame = new FlameView(byId('flame-canvas'), tip, profile, {...common, zoomed: (node, found) => { state.z = node || ''; showPath(); save(found); }, moved: () => { byId('reset').hidden = state.view !== 'flame' || flame.whole; }, picked: pick});
  const callers = new FlameView(byId('callers-canvas'), tip, profile, {...common, picked: pick});
  const callees = new FlameView(byId('callees-canvas'), tip, profile, {...common, picked: pick});
  callers.view.upward = true;
  let half = callees;  // whose the keys are
  for (const view of [callers, callees]) view.canvas.addEventListener('focus', () => { half = view; });
  const table = new TableView(byId('table'), profile, {picked: choose, opened: f => { state.f = f; openView('sandwich'); }});
  const timeChanged = () => { state.w = timeWindow.whole ? '' : `${Math.round(timeWindow.from)}-${Math.round(timeWindow.to)}`; timeline.draw(); if (state.view === 'tracks') tracks.draw(); save(); };
  const timeWindow = new TimeWindow(profile.begin, profile.duration, timeChanged);
  const selectSpan = (from, to) => {
    Object.assign(selection, {from, to});
    state.t = from === null ? '' : `${Math.round(from)}-${Math.round(to)}`;
    applyMode();
    timeline.draw();
    reselectSoon();
  };
  const selectThreads = threads => {
    selection.threads = threads;
    state.th = threads ? writeSet(threads, profile.threads.length) : '';
    timeline.draw();
    reselectSoon();
  };
  const timeline = new TimelineView(byId('timeline'), profile, timeWindow, selection, {...common, selected: selectSpan});
  const tracks = new TracksView(byId('tracks'), profile, timeWindow, selection, {...common, selected: selectSpan, only: thread => selectThreads(new Set([thread]))});
  const source = new SourceView(byId('source'), profile, {chosen: choose});
  const processes = new ProcessView(byId('processes'), profile, selection, {changed: selectThreads});
  // What there is something to show of.
  function showParts() {
    const [only] = profile.processes, any = profile.samples.time.length > 0;  // of folded stacks nobody knows whose they are
    byId('processes').hidden = byId('threads').hidden = !any || (profile.processes.length === 1 && !only.pid && !only.name);
    byId('timeline').hidden = byId('tab-tracks').hidden = !any || !profile.timed;
    byId('group').hidden = !any;
  }

  const groupChoices = [...byId('group').options].map(option => option.value);
  const grouping = () => profile.samples.time.length && groupChoices.includes(state.g) ? state.g : '';
  function groupBy(by) {
    state.g = byId('group').value = by;
    state.z = '';
    reselect();
  }

  // Which samples count, unless a span is selected: all, those of the last seconds, or the more the newer they are.
  const modeSeconds = () => Math.max(1, Number(state.s) || 10);
  const modeText = () => ({window: ` (last ${modeSeconds()} s)`, decay: ` (half-life ${modeSeconds()} s)`}[state.m] || '');
  function applyMode() {
    profile.weights = null;
    if (state.t) return;
    Object.assign(selection, {from: null, to: null});
    const {begin, duration, samples: {time, value}} = profile, stretch = modeSeconds() * 1e6;
    profile.stretch = duration - begin;
    if (state.m === 'window') Object.assign(selection, {from: Math.max(0, duration - stretch), to: duration + 1});
    if (state.m !== 'decay') return;
    profile.weights = value.map((one, i) => one * .5 ** ((duration - time[i]) / stretch));
    profile.stretch = stretch / Math.LN2 * (1 - .5 ** ((duration - begin) / stretch));  // what all of the time weighs
  }
  function setMode(mode, seconds) {
    Object.assign(state, {m: mode, s: seconds && Number(seconds) !== 10 ? String(seconds) : '', t: ''});
    applyMode();
    timeline.draw();
    reselectSoon();
  }

  let selecting = 0;
  function reselectSoon() { selecting ||= requestAnimationFrame(() => { selecting = 0; reselect(); }); }
  // `still`: what is shown is the same, with other numbers.
  function reselect(still = false) {
    if (grouping()) tree = groupedTree(profile, selection, grouping());
    else tree = {...callTree(profile, selectedSelf(profile, selection)), states: statesOf(profile, selection, profile.nodes, node => node)};
    if (grouping()) search.find();  // groups are names, too
    processes.draw();
    byId('threads').textContent = selection.threads ? `Threads: ${selection.threads.size} of ${processes.everyone.length}` : 'Threads';
    totals = null;
    picked = null;
    dirty = {flame: true, table: true, sandwich: true, tracks: true, source: true};
    byId('empty').hidden = tree.total[0] > 0;
    showView(still);
    search.showShare(tree);
    showStatus();
    showLegend(byId('legend'), profile, tree);
  }
  const functionTotalsNow = () => totals ||= functionTotals(profile, tree);
  // The table's columns of numbers.
  function series() {
    const now = functionTotalsNow();
    if (!tree.before) return ['self', 'total'].map(key => ({key, title: key === 'self' ? 'Self' : 'Total', values: now[key], whole: tree.total[0], cpu: profile.secondsPerValue && (value => profile.cpuTexts(value, selection))}));
    const then = functionTotals(profile, {...tree, self: profile.values.before, total: tree.before}), [after, before] = profile.about.wholes;
    return ['self', 'total'].flatMap(key => {
      const title = key === 'self' ? 'Self' : 'Total';
      return [{key: key + 'Before', title: title + ' before', values: then[key], whole: before, side: true}, {key, title: title + ' after', values: now[key], whole: after, side: true},
              {key: key + 'Change', title: title + ' change', values: now[key].map((value, f) => value / after - then[key][f] / before), change: true}];
    });
  }

  function showView(still = false) {
    for (const view of views) {
      byId(view).hidden = state.view !== view;
      byId('tab-' + view).setAttribute('aria-selected', state.view === view);
    }
    for (const [id, where] of Object.entries({order: ['flame', 'sandwich'], direction: ['flame'], copy: ['flame', 'sandwich'], names: ['flame', 'sandwich', 'table', 'source']})) byId(id).hidden = !where.includes(state.view);
    byId('side').hidden = !profile.values.before || state.view !== 'flame';
    if (dirty[state.view]) {
      dirty[state.view] = false;
      if (state.view === 'flame') {
        flame.view.upward = !!state.up;
        flame.zoomedNode = Number(state.z) || 0;
        flame.show(tree, state.order, state.by === 'before');
      } else if (state.view === 'table') table.show(series(), search.matches, selectedFunction(), still);
      else if (state.view === 'tracks') tracks.show();
      else if (state.view === 'source') source.show(selectedFunction());
      else showSandwich(still);
    }
    byId('names').textContent = profile.shown.full ? 'Full names' : 'Short names';
    byId('order').textContent = state.order === 'name' ? 'By name' : 'Largest first';
    byId('direction').textContent = state.up ? 'Flames' : 'Icicle';
    byId('side').textContent = state.by === 'before' ? 'Width: before' : 'Width: after';
    showPath();
    showStatus();
    save();
  }
  function openView(view) {
    state.view = view;
    document.activeElement.blur();
    dirty.table = dirty.sandwich = dirty.source = true;  // they show the selected function
    tip.hidden = true;
    showView();
    byId(view).querySelector('.table-body, .tracks-body, .source-body')?.focus({preventScroll: true});  // arrows scroll
  }
  // The function that is between its callers and callees: another one only when it is opened, not when a box is picked.
  let middle = -1;
  function showSandwich(still) {
    let f = still ? middle : state.f === '' ? -1 : Number(state.f);
    if (!(f >= 0 && f < profile.functions.length)) f = functionTotalsNow().self.reduce((best, value, i, all) => value > all[best] ? i : best, 0);
    middle = f;
    if (!still) state.f = f;
    if (!profile.functions.length) return;
    const {self, total} = functionTotalsNow(), {name} = profile.functions[f];
    byId('sandwich-name').title = name;
    byId('sandwich-name').textContent = [profile.shown.of(f), ...[['self', self[f]], ['total', total[f]]].map(([key, value]) => `${key} ${share(value, tree.total[0])}` + (profile.secondsPerValue ? ` (${profile.cpuTexts(value, selection).join(', ')} of one CPU)` : ''))].join(' · ');
    callers.show(callersOf(profile, tree, f), state.order);
    callees.show(calleesOf(profile, tree, f), state.order);
  }
  function showPath() {
    byId('path').parentNode.hidden = state.view !== 'flame';
    if (flame.tree) flame.showPath(byId('path'));
  }
  function showStatus() {
    const {unit} = profile.about, [seconds, used] = profile.secondsPerValue ? profile.cpuTexts(tree.total[0], selection) : [];
    const all = amountWithUnit(tree.total[0], unit) + (seconds ? ` · ${seconds} of CPU` : '') + (used ? ` (${used} of one)` : '');
    if (!picked && selectedFunction() >= 0 && ['table', 'source'].includes(state.view)) {
      const {self, total} = functionTotalsNow(), f = selectedFunction();
      byId('status').textContent = [shorten(profile.shown.of(f), 120), profile.functions[f].image, `self ${share(self[f], tree.total[0])}, total ${share(total[f], tree.total[0])}`].filter(Boolean).join(' — ');
      return;
    }
    if (!picked) { byId('status').textContent = `${all} shown` + (state.t || selection.threads ? ' (selection)' : modeText()); return; }
    const {place, lines} = explainNode(profile, picked.tree, picked.node);
    byId('status').textContent = [shorten(profile.shown.of(state.f), 120), place, lines[0]].join(' — ');
  }
  const selectedFunction = () => state.f !== '' && Number(state.f) < profile.functions.length ? Number(state.f) : -1;
  // A function, and no frame of it.
  function choose(f) {
    picked = null;
    state.f = f;
    showStatus();
    save();
  }
  function pick(node, of) {
    picked = {node, tree: of};
    state.f = profile.frames.functionOf[of.frame[node]];
    showStatus();
    save();
  }

  function stackText() {
    const of = picked || {node: flame.zoomedNode || 0, tree}, names = [];
    for (let i = of.node; i > 0; i = of.tree.parent[i]) names.push(profile.functions[profile.frames.functionOf[of.tree.frame[i]]].name);
    return of.tree === callers.tree ? names.reverse().join('\n') : names.join('\n');
  }
  async function copyStack() {
    const text = stackText();
    if (!text) return toast('Select a frame first');
    try { await navigator.clipboard.writeText(text); } catch {  // not allowed for file: pages in some browsers
      const field = element('textarea', {value: text});
      document.body.append(field);
      field.select();
      document.execCommand('copy');
      field.remove();
    }
    toast(`Stack copied (${text.split('\n').length} frames)`);
  }
  let toastTimer;
  function toast(text) {
    byId('toast').textContent = text;
    byId('toast').hidden = false;
    clearTimeout(toastTimer);
    toastTimer = setTimeout(() => { byId('toast').hidden = true; }, 1800);
  }
  function save(sameStep) { writeState(state, sameStep); }
  function redrawAll() { for (const view of [flame, callers, callees]) view.redraw(); timeline.draw(); tracks.draw(); }
  function toggle(key, on, off = '') {
    state[key] = state[key] === on ? off : on;
    dirty.flame = dirty.sandwich = true;
    showView();
  }

  const actions = {
    '/': () => { byId('search').focus(); byId('search').select(); }, 1: () => openView('flame'), 2: () => openView('table'), 3: () => openView('sandwich'), 4: () => profile.timed && openView('tracks'), 5: () => profile.annotations.length && openView('source'), t: () => byId('timeline').focus(), z: () => timeline.zoom(),
    ...flameActions(() => state.view === 'sandwich' ? half : flame),
    Escape: () => { if (byId('processes').classList.contains('open')) return byId('processes').classList.remove('open'); if (search.text) return search.set(''); if (state.view === 'flame' && !flame.whole) flame.zoomTo(0); else if (state.t) selectSpan(null, null); else if (!timeWindow.whole) timeWindow.all(); },
    o: () => toggle('order', 'name', 'heavy'), i: () => toggle('up', '1'), b: () => profile.values.before && toggle('by', 'before'), c: copyStack,
    g: () => profile.samples.time.length && groupBy(groupChoices[(groupChoices.indexOf(grouping()) + 1) % groupChoices.length]),
    l: () => { profile.shown.full = !profile.shown.full; state.l = profile.shown.full ? '1' : ''; Object.assign(dirty, {flame: true, table: true, sandwich: true, source: true}); showView(); showStatus(); },
    d: () => { applyTheme(!document.documentElement.classList.contains('dark')); redrawAll(); }, '?': () => byId('keys').showModal(),
  };
  const flameKeys = Object.keys(flameActions());
  addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    if (search.key(event, () => state.view === 'flame' && flame.nextMatch(1))) return;
    if (event.target.tagName === 'BUTTON' && event.key === 'Enter') return;
    if (state.view === 'table' && table.key(event)) return;
    const act = state.view !== 'flame' && state.view !== 'sandwich' && flameKeys.includes(event.key) ? null : actions[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  for (const [id, key] of [['theme', 'd'], ['help', '?'], ['order', 'o'], ['direction', 'i'], ['side', 'b'], ['copy', 'c'], ['names', 'l'], ['tab-flame', 1], ['tab-table', 2], ['tab-sandwich', 3], ['tab-tracks', 4], ['tab-source', 5]])
    byId(id).onclick = () => actions[key]();
  byId('reset').onclick = () => flame.zoomTo(0);
  byId('tab-source').hidden = !profile.annotations.length;
  byId('threads').onclick = () => byId('processes').classList.toggle('open');
  for (const outside of document.querySelectorAll('section, header, #timeline')) outside.addEventListener('pointerdown', event => event.target.id !== 'threads' && byId('processes').classList.remove('open'));
  function showEvents(names) {
    byId('event').hidden = names.length < 2;
    if ([...byId('event').options].map(option => option.text).join() !== names.join()) byId('event').replaceChildren(...names.map((name, i) => element('option', {value: i, selected: i === Number(state.e)}, name)));
  }
  showEvents(events);
  byId('event').onchange = event => {  // other samples, another tree: everything is made anew
    Object.assign(state, {e: event.target.value, z: '', f: ''});
    save();
    location.reload();
  };
  byId('group').onchange = event => { groupBy(event.target.value); event.target.blur(); };
  for (const [key, text] of keyHelp) byId('key-list').append(element('dt', {}, key), element('dd', {}, text));
  preference.addEventListener('change', () => { applyTheme(preference.matches); redrawAll(); });

  function restore() {
    const span = text => (/^(\d+)-(\d+)$/.exec(text) || []).slice(1).map(Number), [from = null, to = null] = span(state.t), [left = profile.begin, right = profile.duration] = span(state.w);
    Object.assign(selection, {from, to, threads: state.th ? readSet(state.th, profile.threads.length) : null});
    if (!views.includes(state.view)) state.view = 'flame';
    timeWindow.set(left, right);
    profile.shown.full = !!state.l;
    byId('group').value = grouping();
    applyMode();
    reselect();
    search.set(state.q);
  }
  addEventListener('hashchange', () => { Object.assign(state, readState()); restore(); });
  showCaption();
  showParts();
  restore();
  document.documentElement.dataset.ready = 'yes';

  const identity = t => `${profile.processes[profile.threads[t].process]?.pid}:${profile.threads[t].tid}`;
  // What is looked at stays: numbers of functions, nodes and threads may be others now.
  function update(later, names) {
    for (const view of [flame, callers, callees]) view.remember();
    const f = profile.functions[selectedFunction()], between = profile.functions[middle], others = state.th[0] === '!', named = selection.threads && new Set(profile.threads.map((_, t) => t).filter(t => selection.threads.has(t) !== others).map(identity));
    Object.defineProperties(profile, Object.getOwnPropertyDescriptors(later));
    const find = (f, at) => { const is = one => one && one.name === f.name && one.image === f.image; return !f || is(profile.functions[at]) ? at : profile.functions.findIndex(is); };
    const at = find(f, state.f);
    state.f = at < 0 ? '' : at;
    middle = find(between, middle);
    if (named) {
      selection.threads = new Set(profile.threads.map((_, t) => t).filter(t => named.has(identity(t)) !== others));
      state.th = writeSet(selection.threads, profile.threads.length);
    }
    showEvents(names);
    showCaption();
    showParts();
    timeWindow.grow(profile.begin, profile.duration);
    applyMode();
    search.find();
    reselect(true);
    timeline.draw();
  }
  return {profile, flame, timeWindow, update, setMode, state, drawNow: () => flame.drawNow()};
}
