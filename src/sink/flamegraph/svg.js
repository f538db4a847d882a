// SPDX-License-Identifier: Apache-2.0
// Makes the picture answer: it is drawn again from #data for the window's width and for the frame one looks at.
'use strict';
(() => {
const svg = document.documentElement, SVG = 'http://www.w3.org/2000/svg', XHTML = 'http://www.w3.org/1999/xhtml';
const $ = id => document.getElementById(id);
const data = JSON.parse($('data').textContent);
const {names, images, frames, depth, frame, total, self, before, wholes} = data;
const count = depth.length, row = 18, margin = 12, top = data.top, letter = 6.65;
const parent = new Int32Array(count), last = new Int32Array(count);
const fmt = new Intl.NumberFormat('en-US'), percent = (a, b) => b ? (100 * a / b).toFixed(a / b < .1 ? 2 : 1) + ' %' : '–';
const value = v => data.unit !== 'ns' ? fmt.format(v) + ' ' + (v === 1 ? data.unit.replace(/s$/, '') : data.unit) :
  v >= 1e9 ? (v / 1e9).toFixed(2) + ' s' : v >= 1e6 ? (v / 1e6).toFixed(2) + ' ms' : (v / 1e3).toFixed(1) + ' µs';
const name = i => names[frames[4 * frame[i]]], image = i => images[frames[4 * frame[i] + 1]] || '';
for (let i = 0, open = []; i < count; ++i) {
  open.length = depth[i];
  parent[i] = i ? open[depth[i] - 1] : -1;
  open[depth[i]] = i;
}
for (let i = count; i--;) { last[i] = Math.max(last[i], i); if (i) last[parent[i]] = Math.max(last[parent[i]], last[i]); }

let zoom = 0, marked = -1, upward = false, byBefore = false, pattern = null, hits = [], hitAt = -1, width = 1200;
let drawn = [];  // x, y, width of each drawn node
const weight = i => byBefore ? before[i] : total[i];
const make = (ns, tag, parentNode, attributes = {}) => {
  const element = document.createElementNS(ns, tag);
  for (const key in attributes) key === 'text' ? element.textContent = attributes[key] : element.setAttribute(key, attributes[key]);
  parentNode.appendChild(element);
  return element;
};

// Blue: less than before; red: more. Pale where the samples do not carry the difference (below three standard errors).
function difference(i) {
  const a = total[i] / wholes[0], b = before[i] / wholes[1];
  const error = Math.sqrt(a / wholes[0] + b / wholes[1]) || 1;
  return (a - b) / (Math.max(a, b) || 1) * Math.min(1, Math.abs(a - b) / error / 3);
}
function heat(d) {
  const mix = (from, to) => Math.round(from + (to - from) * Math.sqrt(Math.abs(d)));
  return d >= 0 ? `rgb(${mix(236, 240)},${mix(232, 84)},${mix(228, 70)})` : `rgb(${mix(236, 84)},${mix(232, 132)},${mix(228, 240)})`;
}

function fit(text, pixels) {
  const letters = Math.floor((pixels - 7) / letter);
  if (letters < 2) return '';
  const points = Array.from(text.length > 400 ? text.slice(0, 400) : text);
  return points.length <= letters ? text : points.slice(0, letters - 1).join('') + '…';
}

function draw() {
  width = Math.max(340, window.innerWidth || 1200);
  const start = new Float64Array(count), used = new Float64Array(count);
  const scale = (width - 2 * margin) / (weight(zoom) || 1), ancestors = new Set();
  for (let i = parent[zoom]; i >= 0; i = parent[i]) ancestors.add(i);
  let deepest = 0;
  drawn = new Array(count);
  const place = i => {
    const w = ancestors.has(i) ? width - 2 * margin : weight(i) * scale;
    if (w < .4) return;
    drawn[i] = [margin + (ancestors.has(i) ? 0 : start[i] * scale), depth[i], w];
    deepest = Math.max(deepest, depth[i]);
  };
  for (const i of [...ancestors].reverse()) place(i);
  for (let i = zoom; i <= last[zoom]; ++i) {
    if (i !== zoom) { start[i] = start[parent[i]] + used[parent[i]]; used[parent[i]] += weight(i); }
    place(i);
  }
  const height = top + (deepest + 1) * row + margin;
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('width', width);
  svg.setAttribute('height', height);
  const out = document.createElementNS(SVG, 'g');
  drawn.forEach((box, i) => {
    box[1] = upward ? height - margin - (box[1] + 1) * row : top + box[1] * row;
    const hit = pattern && pattern.hit[frame[i]];
    const rect = make(SVG, 'rect', out, {x: box[0].toFixed(2), y: box[1], width: Math.max(.3, box[2] - (box[2] > 3 ? .8 : .1)).toFixed(2), height: row - 1,
      class: data.classes[frames[4 * frame[i] + 2]] + (ancestors.has(i) ? ' up' : '') + (hit ? ' hit' : '') + (i === marked ? ' on' : '')});
    if (before && !hit) rect.style.fill = heat(difference(i) * (byBefore ? -1 : 1));
    rect.node = i;
    const label = fit(name(i), box[2]);
    if (label) make(SVG, 'text', out, {x: (box[0] + 4).toFixed(2), y: box[1] + 12.5, text: label, class: hit ? 'hit' : ''});
  });
  const old = $('frames');
  out.id = 'frames';
  if (pattern) out.setAttribute('class', 'searching');
  old.replaceWith(out);
  bar.setAttribute('width', Math.max(240, width - 2 * margin));
  path.setAttribute('width', width - 2 * margin);
  over.setAttribute('width', width);  // what the tip is laid out in
  const line = $('path');
  line.textContent = '';
  const chain = [];
  for (let i = zoom; i >= 0; i = parent[i]) chain.unshift(i);
  if (chain.length > 1) chain.forEach((i, at) => {
    if (chain.length > 9 && at > 1 && at < chain.length - 6) { if (at === 2) line.append(' › …'); return; }
    if (at) line.append(' › ');
    const short = name(i).length > 48 ? name(i).slice(0, 47) + '…' : name(i);
    if (i === zoom) make(XHTML, 'b', line, {text: short}); else make(XHTML, 'a', line, {text: short}).onclick = () => look(i);
  });
  $('reset').style.display = zoom ? '' : 'none';
}

function search(text) {
  let regex = null;
  const field = $('search');
  field.classList.remove('bad');
  try { regex = text ? new RegExp(text, text === text.toLowerCase() ? 'iu' : 'u') : null; } catch { field.classList.add('bad'); return; }
  pattern = null; hits = []; hitAt = -1;
  $('matched').textContent = '';
  if (regex) {
    pattern = {hit: new Array(frames.length / 4)};
    const named = names.map(n => regex.test(n));
    for (let i = 0; i < pattern.hit.length; ++i) pattern.hit[i] = named[frames[4 * i]] || regex.test(images[frames[4 * i + 1]] || '');
    let sum = 0;
    for (let i = 1; i < count; ++i) {
      if (!pattern.hit[frame[i]]) continue;
      hits.push(i);
      let above = parent[i];
      while (above >= 0 && !(above && pattern.hit[frame[above]])) above = parent[above];
      if (above < 0) sum += weight(i);
    }
    $('matched').textContent = percent(sum, weight(0)) + ' matched';
  }
  draw();
}

function look(i) { zoom = i; marked = i; hide(); draw(); window.scrollTo(0, upward ? svg.getBoundingClientRect().height : 0); }
function mark(i) {
  if (i === undefined || i < 0) return;
  marked = i;
  draw();
  if (!drawn[i]) return look(i);
  const [x, y] = drawn[i];
  if (y < window.scrollY + 10 || y + row > window.scrollY + window.innerHeight) window.scrollTo(0, y - window.innerHeight / 2);
  explain(i, Math.max(x, margin) + 14, y + row + 6);
}

function explain(i, x, y) {
  const tip = $('tip'), where = frames[4 * frame[i] + 3];
  tip.textContent = '';
  make(XHTML, 'b', tip, {text: name(i)});
  const kind = data.kinds[frames[4 * frame[i] + 2] >> 2];
  make(XHTML, 'i', tip, {text: [kind, image(i), where >= 0 ? images[where] : ''].filter(Boolean).join(' · ')});
  const line = text => { make(XHTML, 'br', tip); make(XHTML, 'span', tip, {text}); };
  line(`${value(total[i])} · ${percent(total[i], total[0])} of all` + (i ? ` · ${percent(total[i], total[parent[i]])} of its caller` : ''));
  line(`${value(self[i])} in itself · ${percent(self[i], total[0])}`);
  if (before) {
    const d = total[i] / wholes[0] - before[i] / wholes[1];
    line(`before: ${value(before[i])} · ${percent(before[i], wholes[1])}`);
    make(XHTML, 'br', tip);
    make(XHTML, 'span', tip, {text: `${d >= 0 ? '+' : '−'}${(100 * Math.abs(d)).toFixed(2)} points`, class: d >= 0 ? 'up' : 'down'});
  }
  tip.style.display = 'block';
  const box = tip.getBoundingClientRect();
  x = Math.min(x, width - box.width - 8);
  if (y + box.height > window.scrollY + window.innerHeight - 8) y = Math.max(window.scrollY + 4, y - box.height - row - 22);
  tip.style.left = Math.max(4, x) + 'px';
  tip.style.top = y + 'px';
}
function hide() { $('tip').style.display = 'none'; }

const bar = make(SVG, 'foreignObject', svg, {x: margin, y: 12, width: 600, height: 34});
const tools = make(XHTML, 'div', bar, {id: 'bar'});
make(XHTML, 'span', tools, {id: 'matched'});
make(XHTML, 'input', tools, {id: 'search', placeholder: 'Search (regex)   /', 'aria-label': 'Search frames by regular expression', spellcheck: 'false'});
if (before) make(XHTML, 'button', tools, {id: 'side', text: 'Width: after'}).onclick = () => { byBefore = !byBefore; $('side').textContent = byBefore ? 'Width: before' : 'Width: after'; search($('search').value); };
make(XHTML, 'button', tools, {id: 'flip', text: 'Flip', title: 'Root at the top or at the bottom (f)'}).onclick = () => { upward = !upward; draw(); window.scrollTo(0, upward ? 1e6 : 0); };
make(XHTML, 'button', tools, {id: 'reset', text: 'Reset zoom', title: 'Escape'}).onclick = () => look(0);
const path = make(SVG, 'foreignObject', svg, {x: margin, y: top - 23, width: 600, height: 22});
make(XHTML, 'div', path, {id: 'path'});
const over = make(SVG, 'foreignObject', svg, {x: 0, y: 0, width: 600, height: 1, style: 'overflow:visible;pointer-events:none'});
make(XHTML, 'div', over, {id: 'tip', style: 'display:none'});
tools.style.pointerEvents = 'none';
for (const element of tools.children) element.style.pointerEvents = 'auto';

$('search').addEventListener('input', event => search(event.target.value));
svg.addEventListener('mousemove', event => {
  const i = event.target.node;
  if (i === undefined) hide(); else explain(i, event.clientX + window.scrollX + 14, event.clientY + window.scrollY + 16);
});
svg.addEventListener('mouseleave', hide);
svg.addEventListener('click', event => { if (event.target.node !== undefined) look(event.target.node); });
window.addEventListener('resize', () => { hide(); draw(); });
window.addEventListener('keydown', event => {
  const field = event.target === $('search'), key = event.key;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (field && key === 'Escape') { event.target.value = ''; search(''); event.target.blur(); return; }
  if (field && key === 'Enter' && hits.length) { event.target.blur(); hitAt = (hitAt + 1) % hits.length; mark(hits[hitAt]); return; }
  if (field) return;
  const sibling = step => { for (let i = marked + step; i > 0 && i < count; i += step) if (parent[i] === parent[marked] && drawn[i]) return mark(i); };
  const child = () => { for (let i = Math.max(marked, 0) + 1, best = -1; ; ++i) {
    if (i > last[Math.max(marked, 0)]) { mark(best); return; }
    if (parent[i] === Math.max(marked, 0) && (best < 0 || weight(i) > weight(best))) best = i;
  } };
  const act = {
    '/': () => $('search').focus(), Escape: () => pattern ? (($('search').value = ''), search('')) : look(0), Backspace: () => zoom && look(parent[zoom]), f: () => $('flip').click(),
    Enter: () => marked >= 0 && look(marked), n: () => hits.length && mark(hits[hitAt = (hitAt + 1) % hits.length]),
    N: () => hits.length && mark(hits[hitAt = (hitAt + hits.length - 1) % hits.length]),
    ArrowRight: () => sibling(1), ArrowLeft: () => sibling(-1),
    ArrowDown: () => upward ? mark(parent[marked]) : child(), ArrowUp: () => upward ? child() : mark(parent[marked]),
  }[key];
  if (act) { event.preventDefault(); act(); }
});
draw();
})();
