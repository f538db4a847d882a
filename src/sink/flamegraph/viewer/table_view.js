// SPDX-License-Identifier: Apache-2.0
// Functions with numbers, sortable: self and total; of a comparison each before and after, and by how many points its share changed. Only the
// rows in sight exist as elements.
import { amount, element, share } from './format.js';

const tableRow = 28, nameFont = '12px ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace';  // as in viewer.css
const texts = [{key: 'name', title: 'Function'}, {key: 'image', title: 'Image'}];
const points = value => Math.abs(value) < 5e-5 ? '0' : `${value < 0 ? '−' : '+'}${Math.abs(100 * value).toFixed(2)}`;

export class TableView {
  // picked(f): one click; opened(f): two, or Enter.
  constructor(root, profile, callbacks) {
    Object.assign(this, {root, profile, callbacks, series: [], sort: '', down: true, rows: [], selected: -1});
    this.head = element('div', {className: 'table-head', role: 'row'});
    this.body = element('div', {className: 'table-body', tabIndex: 0, role: 'table', 'aria-label': 'Functions'});
    this.space = element('div', {className: 'table-space'});
    this.body.append(this.space);
    root.append(this.head, this.body);
    this.body.addEventListener('scroll', () => this.draw());
    // The row under the pointer, also if it was made anew between press and release.
    const under = event => this.rows[Math.floor((event.clientY - this.space.getBoundingClientRect().top) / tableRow)];
    this.space.onclick = event => {
      const f = under(event);
      if (f === undefined) return;
      if (event.detail === 2) callbacks.opened(f); else this.pick(f);
    };
    new ResizeObserver(() => this.draw()).observe(this.body);
  }
  // series: [{key, title, values, whole, cpu}] by function; cpu(value): CPU time and utilisation; {change: true}: differences of shares; {side: true}: what they are differences of.
  // `still`: the same rows with other numbers; it is left where it was scrolled to.
  show(series, matches, selected, still) {
    Object.assign(this, {series, matches, selected});
    if (!this.sort) this.sort = (series.find(one => one.change) || series[0]).key;
    this.root.classList.toggle('comparison', series.length > 2);
    this.head.replaceChildren(...[...series, ...texts].map(column => {
      const button = element('button', {textContent: column.title, className: column.values ? column.side ? 'number side' : 'number' : ''});
      button.onclick = () => { this.down = this.sort === column.key ? !this.down : !!column.values; this.sort = column.key; this.body.scrollTop = 0; this.arrange(); };
      button.dataset.column = column.key;
      return button;
    }));
    this.arrange();
    if (!still) this.reveal(this.rows.indexOf(selected));
  }
  arrange() {
    const {functions, rank} = this.profile, {series, sort} = this, by = series.find(one => one.key === sort), last = series[series.length - 1];
    this.rows = [];
    for (let f = 0; f < functions.length; ++f)
      if (series.some(one => one.values[f]) && (!this.matches || this.matches[f])) this.rows.push(f);
    const compare = by ? (a, b) => by.values[a] - by.values[b] || last.values[a] - last.values[b]
      : sort === 'name' ? (a, b) => rank[a] - rank[b]
      : (a, b) => functions[a].image < functions[b].image ? -1 : functions[a].image > functions[b].image ? 1 : rank[a] - rank[b];
    this.rows.sort((a, b) => (this.down ? -compare(a, b) : compare(a, b)) || rank[a] - rank[b]);
    for (const button of this.head.children) button.setAttribute('aria-sort', button.dataset.column === this.sort ? this.down ? 'descending' : 'ascending' : 'none');
    this.space.style.height = this.rows.length * tableRow + 'px';
    this.draw();
  }
  draw() {
    if (!this.series.length) return;
    const first = Math.max(0, Math.floor(this.body.scrollTop / tableRow) - 4), last = Math.min(this.rows.length, first + Math.ceil(this.body.clientHeight / tableRow) + 10);
    const {functions, frames, kinds, about: {unit}} = this.profile, made = [];
    const texts = this.profile.shown.fit(this.rows.slice(first, last), this.letters());
    for (let i = first; i < last; ++i) {
      const f = this.rows[i], {name, image, frame} = functions[f], used = this.series.map(one => one.cpu && `${one.title} ${one.cpu(one.values[f]).join(', ')} of one CPU`).filter(Boolean), number = ({values, whole, change, side, cpu}) => {
        if (change) return element('span', {className: 'number ' + (Math.abs(values[f]) < 5e-5 ? '' : values[f] > 0 ? 'more' : 'less')}, element('b', {}, points(values[f])));
        const [seconds] = cpu ? cpu(values[f]) : [], cell = element('span', {className: side ? 'number side' : 'number'}, element('b', {}, share(values[f], whole)),
            ...(seconds ? [element('small', {}, seconds)] : []), element('small', {className: 'count'}, amount(values[f], unit)));
        const bar = element('i');
        bar.style.width = Math.min(100, 100 * values[f] / (whole || 1)) + '%';
        cell.append(bar);
        return cell;
      };
      const swatch = element('i', {className: 'swatch'});
      swatch.style.background = kinds[frames.kind[frame]].shades[0];
      const row = element('div', {className: 'table-row' + (f === this.selected ? ' on' : ''), title: [name.slice(0, 2000), image, ...used].filter(Boolean).join('\n')}, ...this.series.map(number),
          element('span', {className: 'name'}, swatch, texts[i - first]), element('span', {className: 'image'}, image.slice(image.lastIndexOf('/') + 1)));
      row.style.top = i * tableRow + 'px';
      made.push(row);
    }
    this.space.replaceChildren(...made);
  }
  // That there is room for in the column of names.
  letters() {
    const context = this.context ||= element('canvas').getContext('2d');
    context.font = nameFont;
    return Math.max(8, Math.floor((this.head.children[this.series.length].clientWidth - 20) / context.measureText('m').width));
  }
  pick(f) { this.selected = f; this.callbacks.picked(f); this.draw(); }
  // True: it was a key of the table.
  key(event) {
    const at = this.rows.indexOf(this.selected), move = {ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15}[event.key];
    if (event.key === 'Enter' && at >= 0) { this.callbacks.opened(this.selected); return true; }
    if (!move || !this.rows.length) return false;
    event.preventDefault();
    const next = Math.max(0, Math.min(this.rows.length - 1, at + move));
    this.reveal(next);
    this.pick(this.rows[next]);
    return true;
  }
  reveal(row) {
    const y = row * tableRow;
    if (row < 0) return;
    if (y < this.body.scrollTop) this.body.scrollTop = y;
    if (y + tableRow > this.body.scrollTop + this.body.clientHeight) this.body.scrollTop = y + tableRow - this.body.clientHeight;
  }
}
