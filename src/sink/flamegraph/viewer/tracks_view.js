// SPDX-License-Identifier: Apache-2.0
// A row over time for each thread, the busiest first, or for each CPU: how much of one CPU it took. Only rows in sight exist.
import { element, withId } from './format.js';
import { addUpBars, contextOf, drawBars } from './time_axis.js';
import { sumBy } from './view_tree.js';

const trackRow = 26;

export class TracksView {
  // callbacks: theme(), selected(from, to), only(thread)
  constructor(root, profile, window, selection, callbacks) {
    Object.assign(this, {root, profile, window, selection, callbacks, by: 'thread', rows: []});
    this.choice = element('select', {'aria-label': 'Tracks'}, element('option', {value: 'thread'}, 'Threads'), element('option', {value: 'cpu'}, 'CPUs'));
    this.choice.onchange = () => { this.by = this.choice.value; this.show(); };
    this.axis = element('canvas');
    this.body = element('div', {className: 'tracks-body', tabIndex: 0, 'aria-label': 'Tracks'});
    this.space = element('div', {className: 'tracks-space'});
    this.body.append(this.space);
    root.append(element('div', {className: 'track track-head'}, element('div', {className: 'track-name'}, this.choice), this.axis), this.body);
    window.listen(this.axis, this.axis, callbacks.selected);
    window.listen(this.body, this.axis, callbacks.selected, true);
    this.body.addEventListener('scroll', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.body);
  }
  show() {
    const {profile, by, selection} = this, {thread, cpu} = profile.samples, sums = by === 'cpu' ? sumBy(profile, selection, cpu, 65536) : sumBy(profile, selection, thread, profile.threads.length);
    this.rows = [...sums.keys()].filter(row => sums[row]).sort((a, b) => by === 'cpu' ? a - b : sums[b] - sums[a] || a - b);
    this.sums = sums;
    this.space.style.height = this.rows.length * trackRow + 'px';
    this.bars = null;
    this.draw();
  }
  draw() {
    const {profile, window, selection, rows, by} = this, theme = this.callbacks.theme(), width = this.axis.clientWidth;
    if (!width) return;
    const head = contextOf(this.axis);
    window.drawAxis(head.context, head.width, 8, theme);
    const key = [window.from, window.to, width].join();
    if (!this.bars || this.bars.key !== key) {
      const {thread, cpu} = profile.samples, place = new Map(rows.map((row, i) => [row, i])), {threads} = selection;
      this.bars = {key, ...addUpBars(profile, window, width, rows.length, i => threads && !threads.has(thread[i]) ? -1 : place.get(by === 'cpu' ? cpu[i] : thread[i]) ?? -1)};
    }
    const first = Math.max(0, Math.floor(this.body.scrollTop / trackRow) - 2), last = Math.min(rows.length, first + Math.ceil(this.body.clientHeight / trackRow) + 4), made = [];
    for (let i = first; i < last; ++i) {
      const name = by === 'cpu' ? `CPU ${rows[i]}` : profile.threadText(rows[i]), canvas = element('canvas');
      const label = element(by === 'cpu' ? 'div' : 'button', {className: 'track-name', title: by === 'cpu' ? '' : name + '\nclick: only this one'}, ...withId(name), ...profile.cpuTexts(this.sums[rows[i]], selection).map(text => element('small', {}, text)));
      if (by !== 'cpu') label.onclick = () => this.callbacks.only(rows[i]);
      made.push(element('div', {className: 'track'}, label, canvas));
      made[made.length - 1].style.top = i * trackRow + 'px';
    }
    this.space.replaceChildren(...made);
    let most = 1;
    if (!profile.secondsPerValue) this.bars.user.forEach((user, i) => { most = Math.max(most, user + this.bars.kernel[i]); });
    made.forEach((row, i) => {
      const {context, width, height} = contextOf(row.lastChild);
      drawBars(context, profile, this.bars, first + i, most, width, height);
      window.drawSpan(context, selection, width, height, theme);
    });
  }
}
