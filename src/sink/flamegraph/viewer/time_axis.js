// SPDX-License-Identifier: Apache-2.0
// Which part of what is there of the recording is in view, in µs since its start, with an axis in seconds that stays readable however far one zooms.

import { kernelKind, nativeKind } from './profile_data.js';

export class TimeWindow {
  // changed(): another part is in view.
  constructor(begin, end, changed) { Object.assign(this, {begin, end, changed, from: begin, to: end}); }
  set(from, to) {
    const size = Math.min(this.end - this.begin, Math.max(20, to - from));
    this.from = Math.max(this.begin, Math.min(from, this.end - size));
    this.to = this.from + size;
    this.changed();
  }
  all() { this.set(this.begin, this.end); }
  // The recording goes on. Who sees all of it, or its end, sees that from now on.
  grow(begin, end) {
    const {whole} = this, more = this.to >= this.end ? end - this.end : 0, [from, to] = [this.from + more, this.to + more], kept = Math.min(to - from, end - begin);
    Object.assign(this, {begin, end});
    if (whole) [this.from, this.to] = [begin, end];
    else { this.from = Math.max(begin, Math.min(from, end - kept)); this.to = this.from + kept; }
  }
  get whole() { return this.to - this.from >= this.end - this.begin; }
  zoomBy(factor, at = .5) {
    const fixed = this.timeAt(at), size = (this.to - this.from) * factor;
    this.set(fixed - size * at, fixed + size * (1 - at));
  }
  pan(part) { const moved = (this.to - this.from) * part; this.set(this.from + moved, this.to + moved); }
  // 0 at the left edge, 1 at the right one.
  shareOf(time) { return (time - this.from) / (this.to - this.from); }
  timeAt(share) { return this.from + Math.max(0, Math.min(1, share)) * (this.to - this.from); }

  // {time, text}: round numbers of seconds, all with the digits that their distance takes.
  ticks(pixels) {
    const step = niceStep((this.to - this.from) / 1e6 / Math.max(2, Math.floor(pixels / 110))), digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), found = [];
    for (let i = Math.ceil(this.from / 1e6 / step - 1e-9); i * step * 1e6 <= this.to; ++i) found.push({time: i * step * 1e6, text: `${(i * step).toFixed(digits)} s`});
    return found;
  }
  drawAxis(context, width, y, theme) {
    context.fillStyle = theme.line;
    context.fillRect(0, y, width, 1);
    context.font = axisFont;
    context.fillStyle = theme.soft;
    context.textBaseline = 'top';
    const caption = 'since the start', room = width - context.measureText(caption).width - 4;
    context.fillText(caption, room, y + 4);
    for (const {time, text} of this.ticks(width)) {
      const x = this.shareOf(time) * width;
      context.fillRect(x, y, 1, 4);
      if (x + context.measureText(text).width + 10 < room) context.fillText(text, x + 4, y + 4);
    }
  }
  // What is outside the span is shaded.
  drawSpan(context, {from, to}, width, height, theme) {
    if (from === null) return;
    const left = Math.max(0, this.shareOf(from) * width), right = Math.min(width, this.shareOf(to) * width);
    context.globalAlpha = .66;
    context.fillStyle = theme.page;
    context.fillRect(0, 0, left, height);
    context.fillRect(right, 0, width - right, height);
    context.globalAlpha = 1;
    context.fillStyle = theme.accent;
    context.fillRect(left - 1, 0, 2, height);
    context.fillRect(right - 1, 0, 2, height);
  }
  // In canvases inside `root` that are as wide and as far left as `scale`: drag selects a span, a click clears it; the wheel zooms
  // (with ctrl where it also scrolls). The canvases may be replaced meanwhile.
  listen(root, scale, select, scrolls) {
    let anchor;
    const shareAt = event => { const {left, width} = scale.getBoundingClientRect(); return (event.clientX - left) / width; }, timeOf = event => this.timeAt(shareAt(event));
    root.addEventListener('pointerdown', event => { if (event.target.tagName === 'CANVAS' && !event.button) { anchor = timeOf(event); root.setPointerCapture(event.pointerId); } });
    root.addEventListener('pointermove', event => { if (anchor !== undefined) select(Math.min(anchor, timeOf(event)), Math.max(anchor, timeOf(event))); });
    root.addEventListener('pointerup', event => {
      if (anchor !== undefined && Math.abs(timeOf(event) - anchor) < (this.to - this.from) / scale.clientWidth * 4) select(null, null);
      anchor = undefined;
    });
    root.addEventListener('wheel', event => {
      if (scrolls && !event.ctrlKey && !event.deltaX) return;
      event.preventDefault();
      if (event.deltaX || event.shiftKey) this.pan((event.deltaX || event.deltaY) / scale.clientWidth);
      else this.zoomBy(Math.exp(event.deltaY * .004), shareAt(event));
    }, {passive: false});
  }
}
export const axisFont = '11px ui-sans-serif, system-ui, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';

export function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5, 10].find(n => n * power >= least * (1 - 1e-9)) || 10);
}

// A canvas of its element's size, ready to draw in its pixels.
export function contextOf(canvas) {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  return {context, width, height};
}

// Values of the samples in view by row and by part of the time, in the kernel and outside: as CPUs in use where they are CPU time, else
// per second. A sample of a time (on a CPU, or of waiting) stands for what led to it, and is spread over that: samples of one CPU that come at
// regular times fill one CPU, however many of them a bar's edges catch. A bar is no narrower than a sample's time. rowOf(sample): its row, or -1.
export function addUpBars(profile, window, pixels, rows, rowOf) {
  const {time, node, value} = profile.samples, scale = profile.secondsPerValue || (profile.about.unit === 'ns' ? 1e-9 : 1), seconds = (window.to - window.from) / 1e6;
  const count = Math.max(1, Math.min(Math.floor(pixels / 3), profile.secondsPerValue ? Math.floor(seconds / profile.secondsPerValue) : Infinity));
  const user = new Float64Array(rows * count), kernel = new Float64Array(rows * count);
  const stretch = profile.about.unit === 'ns' ? 1e-3 : profile.secondsPerValue * 1e6, longest = stretch && value.reduce((most, one) => Math.max(most, one), 0) * stretch;
  const [begin, end] = profile.samplesBetween(window.from, window.to + longest);
  for (let i = begin; i < end; ++i) {
    const row = rowOf(i), amount = value[i] * scale * count / seconds;
    if (row < 0 || !amount) continue;
    const bars = profile.kernelNode[node[i]] ? kernel : user, last = window.shareOf(time[i]) * count, first = window.shareOf(time[i] - value[i] * stretch) * count;
    if (last - first < 1e-6) {
      if (last >= 0 && last <= count) bars[row * count + Math.min(count - 1, Math.floor(last))] += amount;
      continue;
    }
    for (let bar = Math.max(0, Math.floor(first)); bar < Math.min(count, last); ++bar)
      bars[row * count + bar] += amount * (Math.min(last, bar + 1) - Math.max(first, bar)) / (last - first);
  }
  return {count, user, kernel};
}
export function drawBars(context, profile, {count, user, kernel}, row, most, width, height) {
  const wide = width / count, of = (values, bar) => Math.min(1, values[row * count + bar] / most) * height;
  for (const [values, below, colour] of [[user, null, profile.kinds[nativeKind].shades[0]], [kernel, user, profile.kinds[kernelKind].shades[1]]]) {
    context.fillStyle = colour;
    for (let bar = 0; bar < count; ++bar) {
      const high = of(values, bar), low = below ? of(below, bar) : 0;
      if (high) context.fillRect(bar * wide, height - low - high, wide > 3 ? wide - 1 : wide, high);
    }
  }
}
