// SPDX-License-Identifier: Apache-2.0
// Source lines and instructions of one function, with their samples of the whole recording. Only functions that came with their code have it.
import { element, share } from './format.js';

export class SourceView {
  // callbacks: chosen(function)
  constructor(root, profile, callbacks) {
    Object.assign(this, {root, profile, callbacks, shown: -1});
    const byName = new Map();
    profile.functions.forEach((f, i) => { if (!byName.has(f.name)) byName.set(f.name, i); });
    this.of = new Map();  // annotations by function; a name in several images is one
    profile.annotations.forEach(one => { if (byName.has(one.function)) this.of.set(byName.get(one.function), one); });
    this.choice = element('select', {'aria-label': 'Function'});
    this.choice.onchange = () => { this.show(Number(this.choice.value)); callbacks.chosen(Number(this.choice.value)); };
    this.body = element('div', {className: 'source-body', tabIndex: 0});
    root.append(element('div', {className: 'source-head'}, this.choice), this.body);
  }
  // Another function of the same name has the same code; one without is replaced by the hottest that has some.
  show(f) {
    const {profile} = this, {name} = profile.functions[f] || {}, own = [...this.of.keys()].find(other => profile.functions[other].name === name), [first] = this.of.keys();
    const wanted = own ?? (f >= 0 && name ? -1 : first);
    this.choice.replaceChildren(...(wanted < 0 ? [element('option', {value: -1, selected: true}, `${profile.shown.of(f)}: not among the ${this.of.size} hottest functions, which have their code here`)] : []),
        ...[...this.of.keys()].map(other => element('option', {value: other, selected: other === wanted}, profile.shown.of(other))));
    this.choice.title = name || '';
    this.shown = wanted;
    const whole = profile.wholeValue, number = value => value ? share(value, whole) : '', {missing, parts} = this.of.get(wanted) || {parts: []};
    this.body.replaceChildren(...(missing ? [element('p', {}, missing)] : []), ...parts.flatMap(({instructions, where, lines}) => {
      const most = Math.max(...lines.map(line => line[2]), 1);
      return [element('h3', {title: where}, where), element('div', {className: 'code', role: 'table'}, ...lines.flatMap(([at, text, self, total, gap]) => {
        const bar = element('i'), cells = [self, total].map(value => element('span', {className: 'number', title: value ? profile.cpuTexts(value).join(', ') : ''}, number(value)));
        bar.style.width = 100 * self / most + '%';
        cells[0].append(bar);
        return [...(gap ? [element('div', {className: 'gap'}, '⋯')] : []),
                element('div', {className: 'line' + (self >= most / 2 ? ' hot' : ''), role: 'row'}, ...cells, element('span', {className: 'number at'}, instructions ? at.toString(16) : String(at)), element('code', {}, text))];
      }))];
    }));
    this.body.scrollTop = 0;
    const hottest = this.body.querySelector('.hot');
    if (hottest) this.body.scrollTop = Math.max(0, hottest.offsetTop - this.body.clientHeight / 3);
  }
}
