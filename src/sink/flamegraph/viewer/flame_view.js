// SPDX-License-Identifier: Apache-2.0
// A flame graph one can touch: zoom (click, ctrl+wheel, keys), pan (drag, wheel), details under the pointer.
import { amountWithUnit, duration, element, share, shorten } from './format.js';
import { layOut, placeAt, placeOf } from './layout.js';
import { depthOf, drawFlame, rowHeight } from './flame_canvas.js';

export function explainNode(profile, tree, of) {
  const frame = tree.frame[of], f = profile.functions[profile.frames.functionOf[frame]], {unit} = profile.about, where = profile.frames.where[frame];
  const all = tree.total[0], numbers = value => [amountWithUnit(value, unit), ...(profile.secondsPerValue ? [`${duration(value * profile.secondsPerValue * 1e6)} of CPU`] : [])].join(' · '), lines = [
    `${numbers(tree.total[of])} · ${share(tree.total[of], all)} of what is shown` + (of ? ` · ${share(tree.total[of], tree.total[tree.parent[of]])} of its parent` : ''),
    `${numbers(tree.self[of])} in itself · ${share(tree.self[of], all)}`];
  if (tree.before) {
    const [after, before] = profile.about.wholes, points = 100 * (tree.total[of] / after - tree.before[of] / before);
    lines.push(`before: ${amountWithUnit(tree.before[of], unit)} · ${share(tree.before[of], before)} (${points >= 0 ? '+' : '−'}${Math.abs(points).toFixed(2)} points)`);
  }
  const place = [profile.stateOf(tree, of) && profile.styleOf(tree, of).name, profile.kinds[profile.frames.kind[frame]].name, f.image, where >= 0 ? profile.names[where] : ''].filter(Boolean).join(' · ');
  return {name: f.name, place, lines};
}

export class FlameView {
  // callbacks: theme(), matches(), zoomed(node), moved(): another part is in view, picked(node)
  constructor(canvas, tip, profile, callbacks) {
    Object.assign(this, {canvas, tip, profile, callbacks, tree: null, layout: null, hovered: -1, selected: -1, frames: 0});
    this.view = {from: 0, to: 1, scroll: 0, upward: false};
    canvas.addEventListener('wheel', event => this.wheel(event), {passive: false});
    canvas.addEventListener('pointerdown', event => this.press(event));
    canvas.addEventListener('pointermove', event => this.move(event));
    canvas.addEventListener('pointerup', event => this.release(event));
    canvas.addEventListener('pointerleave', () => { this.hover(-1); });
    new ResizeObserver(() => this.redraw()).observe(canvas);
  }

  show(tree, order, byBefore = false) {
    const zoomed = this.zoomedNode, {kept} = this;
    this.tree = tree;
    this.layout = layOut(tree, this.profile, order, byBefore ? tree.before : tree.total);
    this.hovered = this.selected = -1;
    this.zoomedNode = 0;
    this.view.from = 0;
    this.view.to = this.layout.end[0] || 1;
    this.view.scroll = Math.min(this.view.scroll, this.maxScroll());
    this.kept = null;
    if (kept) this.recall(kept);
    else if (zoomed && zoomed < tree.parent.length) this.zoomTo(placeOf(this.layout, zoomed), false);
    this.redraw();
  }
  // Another tree comes, of a profile that has changed: what is looked at is found again in show(), by the names on the way to it.
  remember() {
    if (this.kept || !this.layout) return;
    const {layout, tree, view, profile: {functions, frames: {functionOf}}} = this;
    const way = node => { const names = []; for (let i = node; i > 0; i = tree.parent[i]) { const {name, image} = functions[functionOf[tree.frame[i]]]; names.unshift(name + '\n' + image); } return names; };
    const zoomed = Math.max(0, placeOf(layout, this.zoomedNode || 0)), start = layout.start[zoomed], size = layout.end[zoomed] - start || 1;
    this.kept = {zoomed: way(layout.node[zoomed]), selected: this.selected >= 0 && way(layout.node[this.selected]), from: (view.from - start) / size, to: (view.to - start) / size, scroll: view.scroll};
  }
  // The place at the end of the way, or as far as it goes.
  follow(way) {
    const {layout, tree, profile: {functions, frames: {functionOf}}} = this;
    let at = 0;
    for (const name of way) {
      let next = layout.firstChild[at];
      for (; next < layout.firstChild[at + 1]; ++next) { const f = functions[functionOf[tree.frame[layout.node[next]]]]; if (f.name + '\n' + f.image === name) break; }
      if (next === layout.firstChild[at + 1]) return {place: at, whole: false};
      at = next;
    }
    return {place: at, whole: true};
  }
  recall({zoomed, selected, from, to, scroll}) {
    const {place, whole} = this.follow(zoomed), {layout} = this, size = layout.end[place] - layout.start[place];
    if (whole) this.setRange(layout.start[place] + from * size, layout.start[place] + to * size); else this.setRange(layout.start[place], layout.end[place]);
    this.zoomedNode = layout.node[place];
    this.callbacks.zoomed?.(this.zoomedNode, true);
    this.view.scroll = Math.min(scroll, this.maxScroll());
    const found = selected && this.follow(selected);
    if (found?.whole) {
      this.selected = found.place;
      this.callbacks.picked?.(layout.node[found.place], this.tree);
    }
    if (this.pointer && !this.tip.hidden) this.hover(this.placeUnder(this.pointer), this.pointer);
  }

  redraw() {
    if (this.pending || !this.layout) return;
    this.pending = requestAnimationFrame(() => { this.pending = 0; this.drawNow(); });
  }
  drawNow() {
    if (!this.canvas.clientWidth) return 0;
    return drawFlame(this.canvas, this.profile, this.tree, this.layout, this.view,
        {matches: this.callbacks.matches(), hovered: this.hovered, selected: this.selected, theme: this.callbacks.theme()});
  }

  maxScroll() { return this.layout ? Math.max(0, this.layout.depth * rowHeight + 8 - this.canvas.clientHeight) : 0; }
  all() { return this.layout.end[0] || 1; }
  placeUnder(event) {
    const row = Math.floor((this.view.upward ? this.canvas.clientHeight - event.offsetY + this.view.scroll : event.offsetY + this.view.scroll) / rowHeight);
    const x = this.view.from + event.offsetX / this.canvas.clientWidth * (this.view.to - this.view.from);
    return row < 0 || row >= this.layout.depth ? -1 : placeAt(this.layout, row, x);
  }

  setRange(from, to) {
    const least = this.all() * 1e-9, size = Math.min(this.all(), Math.max(least, to - from));
    from = Math.max(0, Math.min(from, this.all() - size));
    this.view.from = from;
    this.view.to = from + size;
    this.callbacks.moved?.();
    this.redraw();
  }
  scrollBy(pixels) {
    this.view.scroll = Math.max(0, Math.min(this.maxScroll(), this.view.scroll + pixels));
    this.redraw();
  }

  zoomTo(place, animate = true) {
    if (place < 0) place = 0;
    const {from, to} = this.view, target = [this.layout.start[place], this.layout.end[place]], begun = performance.now();
    this.zoomedNode = this.layout.node[place];
    this.callbacks.zoomed?.(this.zoomedNode);
    cancelAnimationFrame(this.animation);
    if (!animate || matchMedia('(prefers-reduced-motion: reduce)').matches) return this.setRange(...target);
    const step = now => {
      const t = Math.min(1, Math.max(0, (now - begun) / 160)), eased = 1 - (1 - t) ** 3;
      if (t === 1) return this.setRange(...target);
      this.setRange(from + (target[0] - from) * eased, to + (target[1] - to) * eased);
      this.animation = requestAnimationFrame(step);
    };
    this.animation = requestAnimationFrame(step);
  }
  zoomOut() { this.zoomTo(this.zoomedNode ? placeOf(this.layout, this.tree.parent[this.zoomedNode]) : 0); }
  zoomBy(factor, at = .5) {
    const {from, to} = this.view, fixed = from + (to - from) * at;
    this.setRange(fixed - (fixed - from) * factor, fixed + (to - fixed) * factor);
  }

  select(place) {
    this.selected = place;
    if (place >= 0) {
      const {start, end} = this.layout, {from, to} = this.view;
      if (start[place] >= to || end[place] <= from || (end[place] - start[place]) / (to - from) * this.canvas.clientWidth < 2)
        this.zoomTo(placeOf(this.layout, this.tree.parent[this.layout.node[place]]), false);
      const y = depthOf(this.layout, place) * rowHeight;
      if (y < this.view.scroll) this.view.scroll = y;
      if (y + 2 * rowHeight > this.view.scroll + this.canvas.clientHeight) this.view.scroll = y + 2 * rowHeight - this.canvas.clientHeight;
      this.callbacks.picked?.(this.layout.node[place], this.tree);
    }
    this.redraw();
  }
  // Keys: to the parent, the largest child, the neighbours.
  step(direction) {
    const {layout, tree} = this, at = this.selected;
    if (at < 0) return this.select(Math.max(0, placeOf(layout, this.zoomedNode || 0)));
    if (direction === 'parent') return at ? this.select(placeOf(layout, tree.parent[layout.node[at]])) : undefined;
    if (direction === 'child') {
      let best = -1;
      for (let i = layout.firstChild[at]; i < layout.firstChild[at + 1]; ++i)
        if (best < 0 || layout.end[i] - layout.start[i] > layout.end[best] - layout.start[best]) best = i;
      return best >= 0 ? this.select(best) : undefined;
    }
    const next = at + direction;
    if (next > 0 && next < layout.node.length && depthOf(layout, next) === depthOf(layout, at)) this.select(next);
  }
  nextMatch(step) {
    const {layout, tree, profile: {frames: {functionOf}}} = this, matches = this.callbacks.matches(), count = layout.node.length;
    for (let i = 1, at = Math.max(0, this.selected); matches && i <= count; ++i) {
      at = (at + step + count) % count;
      if (at && matches[functionOf[tree.frame[layout.node[at]]]]) return this.select(at);
    }
  }
  pan(part) { const {from, to} = this.view; this.setRange(from + part * (to - from), to + part * (to - from)); }
  get whole() { return !this.zoomedNode && this.view.from <= 0 && this.view.to >= this.all(); }
  // The callers of the frame that is zoomed to, as links back to them.
  showPath(line) {
    const {tree, profile} = this, chain = [];
    line.replaceChildren();
    for (let i = this.zoomedNode || 0; ; i = tree.parent[i]) { chain.unshift(i); if (!i) break; }
    if (chain.length < 2) return;
    chain.forEach((node, at) => {
      if (chain.length > 9 && at > 1 && at < chain.length - 6) { if (at === 2) line.append(' › …'); return; }
      if (at) line.append(' › ');
      const name = shorten(node ? profile.shown.of(profile.frames.functionOf[tree.frame[node]]) : 'all', 46);
      if (at === chain.length - 1) return line.append(element('b', {}, name));
      const link = element('button', {}, name);
      link.onclick = () => this.zoomTo(placeOf(this.layout, node));
      line.append(link);
    });
  }

  wheel(event) {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 18 : 1, across = (event.shiftKey ? event.deltaY : event.deltaX) * unit;
    if (event.ctrlKey || event.metaKey) return this.zoomBy(Math.exp(event.deltaY * unit * .004), event.offsetX / this.canvas.clientWidth);
    if (across) {
      const moved = across / this.canvas.clientWidth * (this.view.to - this.view.from);
      this.setRange(this.view.from + moved, this.view.to + moved);
    }
    if (!event.shiftKey) this.scrollBy(this.view.upward ? -event.deltaY * unit : event.deltaY * unit);
  }
  press(event) {
    if (event.button) return;
    this.drag = {x: event.clientX, y: event.clientY, from: this.view.from, to: this.view.to, scroll: this.view.scroll, moved: false};
    this.canvas.setPointerCapture(event.pointerId);
  }
  move(event) {
    if (!this.layout) return;
    const {drag} = this;
    if (drag) {
      const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
      if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 5) return;
      drag.moved = true;
      this.hover(-1);
      this.canvas.style.cursor = 'grabbing';
      const moved = -dx / this.canvas.clientWidth * (drag.to - drag.from);
      this.view.scroll = Math.max(0, Math.min(this.maxScroll(), drag.scroll + (this.view.upward ? dy : -dy)));
      return this.setRange(drag.from + moved, drag.to + moved);
    }
    this.pointer = {offsetX: event.offsetX, offsetY: event.offsetY, clientX: event.clientX, clientY: event.clientY};
    this.hover(this.placeUnder(event), event);
  }
  release(event) {
    const moved = this.drag?.moved;
    this.drag = null;
    this.canvas.style.cursor = '';
    if (moved || event.button) return;
    const place = this.placeUnder(event);
    if (place < 0) return;
    this.selected = place;
    this.callbacks.picked?.(this.layout.node[place], this.tree);
    this.zoomTo(place);
  }
  hover(place, event) {
    if (place !== this.hovered) { this.hovered = place; this.redraw(); }
    this.canvas.style.cursor = place >= 0 ? 'pointer' : '';
    if (place < 0) { this.tip.hidden = true; return; }
    const {name, place: where, lines} = explainNode(this.profile, this.tree, this.layout.node[place]);
    this.tip.replaceChildren(element('b', {}, name.length > 1200 ? name.slice(0, 1200) + '…' : name), element('i', {}, where), ...lines.map(line => element('span', {}, line)));
    this.tip.hidden = false;
    const box = this.tip.getBoundingClientRect(), x = Math.min(event.clientX + 14, innerWidth - box.width - 8);
    const below = event.clientY + 18;
    this.tip.style.left = Math.max(4, x) + 'px';
    this.tip.style.top = (below + box.height > innerHeight - 4 ? Math.max(4, event.clientY - box.height - 12) : below) + 'px';
  }
}

// What keys do to the flame graph that view() names.
export function flameActions(view) {
  const out = () => view().zoomBy(1.4), into = () => view().zoomBy(.7);
  return {ArrowLeft: () => view().step(-1), ArrowRight: () => view().step(1), ArrowUp: () => view().step(view().view.upward ? 'child' : 'parent'),
          ArrowDown: () => view().step(view().view.upward ? 'parent' : 'child'), Enter: () => view().selected >= 0 && view().zoomTo(view().selected),
          Backspace: () => view().zoomOut(), '+': into, '=': into, w: into, '-': out, s: out, a: () => view().pan(-.2), e: () => view().pan(.2),
          n: () => view().nextMatch(1), N: () => view().nextMatch(-1)};
}
