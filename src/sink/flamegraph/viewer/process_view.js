// SPDX-License-Identifier: Apache-2.0
// Which threads are shown: processes and their threads, the busiest of the selected span first, with their CPU time; a check box each, a
// button for "only this one", and a field that finds one among hundreds.
import { element, withId } from './format.js';
import { sumBy } from './view_tree.js';

const mostRows = 400;

export class ProcessView {
  // callbacks: changed(threads): a Set of threads, or null for all.
  constructor(root, profile, selection, callbacks) {
    Object.assign(this, {root, profile, selection, callbacks, entries: []});
    this.field = element('input', {type: 'search', placeholder: 'Find a thread or process', 'aria-label': 'Find a thread or process', spellcheck: false, autocomplete: 'off'});
    this.field.addEventListener('input', () => this.draw());
    this.list = element('div', {className: 'threads'});
    root.append(this.field, this.list);
  }
  get everyone() { return this.profile.threads.map((_, i) => i).filter(i => this.profile.hasSamples[i]); }
  isOn(thread) { return !this.selection.threads || this.selection.threads.has(thread); }
  choose(threads) { this.callbacks.changed(threads.length === this.everyone.length ? null : new Set(threads)); }
  toggle(threads, on) {
    const them = new Set(threads);
    this.choose(this.everyone.filter(t => them.has(t) ? on : this.isOn(t)));
  }
  // After a change of the span or of the threads.
  draw() {
    const {profile, selection, everyone} = this, {from, to} = selection, weights = sumBy(profile, {from, to, threads: null}, profile.samples.thread, profile.threads.length), weight = t => weights[t];
    const wanted = this.field.value.trim().toLowerCase(), byProcess = new Map(), focused = document.activeElement?.dataset?.row;
    for (const t of everyone) {
      const {process} = profile.threads[t];
      if (wanted && !`${profile.threadText(t)} ${profile.processText(process)} ${profile.processes[process]?.cmdline || ''}`.toLowerCase().includes(wanted)) continue;
      if (!byProcess.has(process)) byProcess.set(process, []);
      byProcess.get(process).push(t);
    }
    const sum = threads => threads.reduce((total, t) => total + weight(t), 0), all = sum(everyone), matching = [...byProcess.values()].flat();
    this.list.replaceChildren();
    let rows = 0, left = 0;
    const add = (className, text, title, threads) => {
      if (++rows > mostRows) { ++left; return; }
      const on = threads.filter(t => this.isOn(t)).length, box = element('input', {type: 'checkbox', checked: on > 0 && on === threads.length, indeterminate: on > 0 && on < threads.length});
      box.dataset.row = rows;
      box.onchange = () => this.toggle(threads, box.checked);
      const only = element('button', {className: 'only', title: 'Show nothing else'}, 'only'), bar = element('i'), value = sum(threads);
      only.dataset.row = 'only' + rows;
      only.onclick = () => this.choose(threads);
      bar.style.width = 100 * value / (all || 1) + '%';
      this.list.append(element('label', {className, title}, box, ...withId(text), only, ...profile.cpuTexts(value, selection, all).map(part => element('small', {}, part)), bar));
    };
    add('all', wanted ? `${matching.length} found` : `All ${everyone.length === 1 ? 'threads' : everyone.length + ' threads'}`, '', matching);
    for (const [process, threads] of [...byProcess].map(entry => [...entry, sum(entry[1])]).sort((a, b) => b[2] - a[2])) {
      const text = profile.processText(process), title = (profile.processes[process]?.cmdline || text).slice(0, 2000);
      add('process', text, title, threads);
      if (threads.length > 1 || wanted)
        for (const t of threads.sort((a, b) => weight(b) - weight(a) || a - b)) add('thread', profile.threadText(t), `${profile.threadText(t)} of ${text}`, [t]);
    }
    if (left) this.list.append(element('p', {}, `${left} more, with less CPU time: find them by name`));
    if (focused) this.list.querySelector(`[data-row="${focused}"]`)?.focus();
  }
}
