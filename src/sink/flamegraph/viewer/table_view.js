// SPDX-License-Identifier: Apache-2.0
// Functions with self and total, sortable. Only the rows in sight exist as elements.
import { amount, element, share } from './format.js';
import { kinds } from './palette.js';

const tableRow = 28;
const columns = [
  {key: 'self', title: 'Self', number: true}, {key: 'total', title: 'Total', number: true},
  {key: 'name', title: 'Function'}, {key: 'image', title: 'Image'}];

export class TableView {
  // picked(f): one click; opened(f): two, or Enter.
  constructor(root, profile, callbacks) {
    Object.assign(this, {root, profile, callbacks, sort: 'self', down: true, rows: [], selected: -1});
    this.head = element('div', {className: 'table-head', role: 'row'});
    this.body = element('div', {className: 'table-body', tabIndex: 0, role: 'table', 'aria-label': 'Functions'});
    this.space = element('div', {className: 'table-space'});
    this.body.append(this.space);
    root.append(this.head, this.body);
    for (const column of columns) {
      const button = element('button', {textContent: column.title, className: column.number ? 'number' : ''});
      button.onclick = () => { this.down = this.sort === column.key ? !this.down : !!column.number; this.sort = column.key; this.arrange(); };
      button.dataset.column = column.key;
      this.head.append(button);
    }
    this.body.addEventListener('scroll', () => this.draw());
    this.body.addEventListener('keydown', event => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.body);
  }
  show(totals, all, matches) {
    Object.assign(this, {totals, all, matches});
    this.arrange();
  }
  arrange() {
    const {functions, rank} = this.profile, {self, total} = this.totals;
    this.rows = [];
    for (let f = 0; f < functions.length; ++f) if (total[f] > 0 && (!this.matches || this.matches[f])) this.rows.push(f);
    const compare = {self: (a, b) => self[a] - self[b] || total[a] - total[b], total: (a, b) => total[a] - total[b] || self[a] - self[b],
      name: (a, b) => rank[a] - rank[b], image: (a, b) => functions[a].image < functions[b].image ? -1 : functions[a].image > functions[b].image ? 1 : rank[a] - rank[b]}[this.sort];
    this.rows.sort((a, b) => (this.down ? -compare(a, b) : compare(a, b)) || rank[a] - rank[b]);
    for (const button of this.head.children) button.setAttribute('aria-sort', button.dataset.column === this.sort ? this.down ? 'descending' : 'ascending' : 'none');
    this.space.style.height = this.rows.length * tableRow + 'px';
    this.draw();
  }
  draw() {
    if (!this.totals) return;
    const first = Math.max(0, Math.floor(this.body.scrollTop / tableRow) - 4), last = Math.min(this.rows.length, first + Math.ceil(this.body.clientHeight / tableRow) + 10);
    const {functions, frames, about: {unit}} = this.profile, made = [];
    for (let i = first; i < last; ++i) {
      const f = this.rows[i], {name, image, frame} = functions[f], number = values => {
        const cell = element('span', {className: 'number'}, element('b', {}, share(values[f], this.all)), element('small', {}, amount(values[f], unit)));
        const bar = element('i');
        bar.style.width = 100 * values[f] / (this.all || 1) + '%';
        cell.append(bar);
        return cell;
      };
      const swatch = element('i', {className: 'swatch'});
      swatch.style.background = kinds[frames.kind[frame]].shades[0];
      const row = element('div', {className: 'table-row' + (f === this.selected ? ' on' : ''), title: name.slice(0, 2000)}, number(this.totals.self), number(this.totals.total),
          element('span', {className: 'name'}, swatch, name.slice(0, 400)), element('span', {className: 'image'}, image.slice(image.lastIndexOf('/') + 1)));
      row.style.top = i * tableRow + 'px';
      row.onclick = () => { this.pick(f); };
      row.ondblclick = () => this.callbacks.opened(f);
      made.push(row);
    }
    this.space.replaceChildren(...made);
  }
  pick(f) { this.selected = f; this.callbacks.picked(f); this.draw(); }
  key(event) {
    const at = this.rows.indexOf(this.selected), move = {ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15}[event.key];
    if (event.key === 'Enter' && at >= 0) this.callbacks.opened(this.selected);
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    const next = Math.max(0, Math.min(this.rows.length - 1, at + move)), y = next * tableRow;
    if (y < this.body.scrollTop) this.body.scrollTop = y;
    if (y + tableRow > this.body.scrollTop + this.body.clientHeight) this.body.scrollTop = y + tableRow - this.body.clientHeight;
    this.pick(this.rows[next]);
  }
}
