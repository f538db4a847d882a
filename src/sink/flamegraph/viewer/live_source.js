// SPDX-License-Identifier: Apache-2.0
// The data source of the live page: what page_feed.cc sends, everything at first, then what is new (docs/viewer.md has the layout).
import { makeProfile, unpack } from './profile_data.js';

// Numbers that come one after the other. What was handed out does not change: rows are written behind it, and what is dropped leaves it as it is.
class Column {
  constructor(type) { this.all = new type(1024); this.size = 0; }
  push(number) {
    if (this.size === this.all.length) { const grown = new this.all.constructor(2 * this.size); grown.set(this.all); this.all = grown; }
    this.all[this.size++] = number;
  }
  drop(rows) { this.all = this.all.slice(rows); this.size -= rows; if (!this.all.length) this.all = new this.all.constructor(1024); }
  get rows() { return this.all.subarray(0, this.size); }
}

export class LiveSource {
  constructor() { this.id = ''; this.recorder = {}; this.begin(); }
  begin() {
    Object.assign(this, {names: [], frames: [], processes: [], threads: [], shown: undefined, firstRow: 0, parent: new Column(Uint32Array), frame: new Column(Uint32Array), nodeOfLeaf: [],
                         time: new Column(Float64Array), thread: new Column(Uint32Array), leaf: new Column(Uint32Array), value: new Column(Float64Array), cpu: new Column(Uint16Array), state: new Column(Uint8Array)});
  }
  // One message. False: it does not follow the ones before, and everything is to be asked for again.
  async take(about) {
    const {tables, reader} = await unpack(about.payload), number = () => reader.next();
    if (tables.anew) this.begin();
    const [names, frames, nodes, firstRow] = tables.first;
    if (names !== this.names.length || 4 * frames !== this.frames.length || nodes !== this.parent.size || (this.time.size && firstRow < this.firstRow + this.time.size)) return false;
    for (const name of tables.names) this.names.push(name);
    for (const one of tables.frames) this.frames.push(one);
    for (const [i, row] of tables.processes) this.processes[i] = row;
    for (const [i, row] of tables.threads) this.threads[i] = row;
    for (let count = number(); count > 0; --count) { this.parent.push(this.parent.size - number()); this.frame.push(number()); }
    for (let count = number(), leaf = 0; count > 0; --count) { leaf += number(); this.nodeOfLeaf[leaf] = number(); }
    const columns = [this.time, this.thread, this.leaf, this.value, this.cpu, ...(tables.states ? [this.state] : [])];
    if (firstRow > this.firstRow + this.time.size) { for (const column of columns) column.drop(column.size); this.firstRow = firstRow; }
    for (let count = number(), time = number(); count > 0; --count) {
      this.time.push(time += number());
      for (const column of columns.slice(1)) column.push(number());
    }
    const gone = Math.min(this.time.size, tables.dropped - this.firstRow);
    if (gone > 0) { for (const column of columns) column.drop(gone); this.firstRow += gone; }
    Object.assign(this, {id: about.live, about, events: tables.events, ended: tables.ended, recorder: tables.recorder});
    return true;
  }
  profile() {
    const {about, names, frames, processes, threads, nodeOfLeaf} = this, none = new Float64Array(this.parent.size);
    const begin_us = this.firstRow && this.time.size ? this.time.all[0] : 0;  // what came before was dropped
    const made = makeProfile({...about, begin_us}, {names, frames, processes, threads}, {parent: this.parent.rows, frame: this.frame.rows},
        {time: this.time.rows, thread: this.thread.rows, node: this.leaf.rows.map(leaf => nodeOfLeaf[leaf]), value: this.value.rows, cpu: this.cpu.rows, state: this.state.size ? this.state.rows : null}, {self: none, rest: none, before: null, heat: none}, this.shown);
    this.shown = made.shown;
    return made;
  }
}
