// SPDX-License-Identifier: Apache-2.0
// Processes and their threads with their share of the selected span; a click selects one, with ctrl or shift another one as well.
import { element, share } from './format.js';
import { spanOf } from './view_tree.js';

export class ProcessView {
  constructor(root, profile, callbacks) {
    Object.assign(this, {root, profile, callbacks, selected: null, span: {from: null, to: null}});
    const weight = this.weights(), byProcess = new Map();
    profile.threads.forEach((t, i) => {
      if (!weight[i]) return;
      if (!byProcess.has(t.process)) byProcess.set(t.process, {threads: [], weight: 0});
      byProcess.get(t.process).threads.push(i);
      byProcess.get(t.process).weight += weight[i];
    });
    this.entries = [];
    const add = (className, text, title, threads) => {
      const bar = element('i'), part = element('small'), entry = element('button', {className, title}, element('span', {}, text), part, bar);
      entry.onclick = event => this.toggle(threads, event.ctrlKey || event.metaKey || event.shiftKey);
      this.entries.push({entry, threads, bar, part});
      root.append(entry);
    };
    add('process', 'All processes', 'Everything that was recorded', null);
    const sorted = [...byProcess].sort((a, b) => b[1].weight - a[1].weight).slice(0, 500);
    for (const [id, {threads}] of sorted) {
      const process = profile.processes[id] || {name: '[unknown]', pid: 0, cmdline: ''};
      add('process', `${process.name || '[unknown]'} (${process.pid})`, (process.cmdline || process.name).slice(0, 2000), threads);
      if (threads.length > 1)
        for (const t of threads.sort((a, b) => weight[b] - weight[a]).slice(0, 100)) {
          const {name, tid, main} = profile.threads[t];
          add('thread', `${name || process.name} (${tid}${main ? ', main' : ''})`, '', [t]);
        }
    }
    this.measure(weight);
    this.draw();
  }
  // By thread, in the span.
  weights() {
    const {thread, value} = this.profile.samples, weight = new Float64Array(this.profile.threads.length), [begin, end] = spanOf(this.profile, this.span);
    for (let i = begin; i < end; ++i) weight[thread[i]] += value[i];
    return weight;
  }
  measure(weight) {
    const all = weight.reduce((a, b) => a + b, 0);
    for (const {threads, bar, part} of this.entries) {
      const amount = threads ? threads.reduce((sum, t) => sum + weight[t], 0) : all;
      bar.style.width = 100 * amount / (all || 1) + '%';
      part.textContent = share(amount, all);
    }
  }
  show({from, to}) {
    if (from === this.span.from && to === this.span.to) return;
    this.span = {from, to};
    this.measure(this.weights());
  }
  toggle(threads, more) {
    if (!threads) this.selected = null;
    else if (!more || !this.selected) this.selected = new Set(threads);
    else {
      const out = threads.every(t => this.selected.has(t));
      for (const t of threads) out ? this.selected.delete(t) : this.selected.add(t);
      if (!this.selected.size) this.selected = null;
    }
    this.draw();
    this.callbacks.changed(this.selected);
  }
  draw() {
    for (const {entry, threads} of this.entries)
      entry.classList.toggle('on', threads ? !!this.selected && threads.every(t => this.selected.has(t)) : !this.selected);
  }
}
