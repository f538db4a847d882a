// SPDX-License-Identifier: Apache-2.0
// The data source of the live page: what page_feed.cc sends, everything at first, then what is new (docs/viewer.md has the layout).
import { makeProfile, unpack } from './profile_data.js';

// Numbers that come one after the other. What was handed out does not change: rows are written behind it, and those that are picked are copied.
class Column {
  constructor(type) { this.all = new type(1024); this.size = 0; }
  push(number) {
    if (this.size === this.all.length) { const grown = new this.all.constructor(2 * this.size); grown.set(this.all); this.all = grown; }
    this.all[this.size++] = number;
  }
  pick(rows) { const all = this.all, picked = new all.constructor(Math.max(1024, rows.length + (rows.length >> 3))); for (let i = 0; i < rows.length; ++i) picked[i] = all[rows[i]]; this.all = picked; this.size = rows.length; }
  get rows() { return this.all.subarray(0, this.size); }
}

export class LiveSource {
  constructor() { this.id = ''; this.recorder = {}; this.begin(); }
  begin() {
    Object.assign(this, {names: [], frames: [], processes: [], threads: [], shown: undefined, nextRow: 0, parent: new Column(Uint32Array), frame: new Column(Uint32Array), nodeOfLeaf: [],
                         row: new Column(Float64Array), time: new Column(Float64Array), thread: new Column(Uint32Array), leaf: new Column(Uint32Array), value: new Column(Float64Array), cpu: new Column(Uint16Array), state: new Column(Uint8Array)});
  }
  // One message. False: it does not follow the ones before, and everything is to be asked for again.
  async take(about) {
    const {tables, reader} = await unpack(about.payload), number = () => reader.next();
    if (tables.anew) this.begin();
    const [names, frames, nodes, firstRow] = tables.first;
    if (names !== this.names.length || 4 * frames !== this.frames.length || nodes !== this.parent.size || (this.row.size && firstRow < this.nextRow)) return false;
    for (const name of tables.names) this.names.push(name);
    for (const one of tables.frames) this.frames.push(one);
    for (const [i, row] of tables.processes) this.processes[i] = row;
    for (const [i, row] of tables.threads) this.threads[i] = row;
    for (let count = number(); count > 0; --count) { this.parent.push(this.parent.size - number()); this.frame.push(number()); }
    for (let count = number(), leaf = 0; count > 0; --count) { leaf += number(); this.nodeOfLeaf[leaf] = number(); }
    const columns = [this.thread, this.leaf, this.value, this.cpu, ...(tables.states ? [this.state] : [])], had = this.row.size;
    this.nextRow = firstRow;
    for (let count = number(), time = number(); count > 0; --count) {
      this.row.push(this.nextRow++);
      this.time.push(time += reader.nextSigned());
      for (const column of columns) column.push(number());
    }
    this.settle([this.row, this.time, ...columns], had, tables.dropped);
    Object.assign(this, {id: about.live, about, events: tables.events, ended: tables.ended, recorder: tables.recorder});
    return true;
  }
  // Drops samples whose numbers are below `dropped`, and puts those from place `had` on where they belong in time: some come late.
  settle(columns, had, dropped) {
    const row = this.row.rows, time = this.time.rows, order = new Uint32Array(row.length), came = Array.from({length: row.length - had}, (_, i) => had + i).sort((a, b) => time[a] - time[b]);
    let kept = 0, next = 0, changed = false;
    const keep = at => {
      if (row[at] < dropped) { changed = true; return; }
      changed ||= at !== kept;
      order[kept++] = at;
    };
    for (let at = 0; at < had; ++at) {
      while (next < came.length && time[came[next]] < time[at]) keep(came[next++]);
      keep(at);
    }
    while (next < came.length) keep(came[next++]);
    if (changed) for (const column of columns) column.pick(order.subarray(0, kept));
    this.dropped = dropped;
  }
  profile() {
    const {about, names, frames, processes, threads, nodeOfLeaf} = this, none = new Float64Array(this.parent.size);
    const begin_us = this.dropped && this.time.size ? this.time.all[0] : 0;  // what came before was dropped
    const made = makeProfile({...about, begin_us}, {names, frames, processes, threads}, {parent: this.parent.rows, frame: this.frame.rows},
        {time: this.time.rows, thread: this.thread.rows, node: this.leaf.rows.map(leaf => nodeOfLeaf[leaf]), value: this.value.rows, cpu: this.cpu.rows, state: this.state.size ? this.state.rows : null}, {self: none, rest: none, before: null, heat: none}, this.shown);
    this.shown = made.shown;
    return made;
  }
}
