// SPDX-License-Identifier: Apache-2.0
// Samples over time, kernel above user, of the selected threads. Dragging selects a span; the views follow.
import { tick } from './format.js';
import { kernelKind, nativeKind } from './profile_data.js';

export class TimelineView {
  constructor(canvas, profile, callbacks) {
    Object.assign(this, {canvas, profile, callbacks, from: null, to: null, threads: null});
    const {time} = profile.samples;
    this.kernelNode = new Uint8Array(profile.nodes.frame.length);
    for (let i = 0; i < this.kernelNode.length; ++i) this.kernelNode[i] = profile.frames.kind[profile.nodes.frame[i]] === kernelKind ? 1 : 0;
    canvas.hidden = !time.length || !profile.timed;  // folded stacks and pprof have no times
    canvas.addEventListener('pointerdown', event => { this.anchor = this.timeAt(event); canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener('pointermove', event => {
      if (this.anchor === undefined) return;
      const now = this.timeAt(event);
      this.select(Math.min(this.anchor, now), Math.max(this.anchor, now));
    });
    canvas.addEventListener('pointerup', event => {
      const now = this.timeAt(event), tiny = Math.abs(now - this.anchor) < this.profile.duration / this.canvas.clientWidth * 4;
      this.anchor = undefined;
      if (tiny) this.select(null, null);
    });
    new ResizeObserver(() => this.draw()).observe(canvas);
  }
  timeAt(event) { return Math.max(0, Math.min(1, event.offsetX / this.canvas.clientWidth)) * this.profile.duration; }
  select(from, to) {
    this.from = from;
    this.to = to;
    this.draw();
    this.callbacks.changed(from, to);
  }
  draw() {
    const {canvas, profile} = this, ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight, theme = this.callbacks.theme();
    if (!width) return;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext('2d'), bars = Math.max(1, Math.floor(width / 4)), plot = height - 17;
    context.scale(ratio, ratio);
    const {time, thread, node, value} = profile.samples, user = new Float64Array(bars), kernel = new Float64Array(bars);
    for (let i = 0; i < time.length; ++i) {
      if (this.threads && !this.threads.has(thread[i])) continue;
      const bar = Math.min(bars - 1, Math.floor(time[i] / profile.duration * bars));
      (this.kernelNode[node[i]] ? kernel : user)[bar] += value[i];
    }
    let most = 1;
    for (let i = 0; i < bars; ++i) most = Math.max(most, user[i] + kernel[i]);
    for (let i = 0; i < bars; ++i) {
      const x = i / bars * width, low = user[i] / most * (plot - 4), high = kernel[i] / most * (plot - 4);
      const middle = (i + .5) / bars * profile.duration;
      context.globalAlpha = this.from !== null && (middle < this.from || middle > this.to) ? .28 : 1;
      context.fillStyle = profile.kinds[nativeKind].shades[0];
      context.fillRect(x, plot - low, width / bars - 1, low);
      context.fillStyle = profile.kinds[kernelKind].shades[1];
      context.fillRect(x, plot - low - high, width / bars - 1, high);
    }
    context.globalAlpha = 1;
    context.fillStyle = theme.line;
    context.fillRect(0, plot, width, 1);
    context.font = '11px ui-sans-serif, system-ui, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';
    context.fillStyle = theme.soft;
    context.textBaseline = 'top';
    const ticks = Math.max(2, Math.floor(width / 130)), step = niceStep(profile.duration / ticks);
    for (let t = 0; t <= profile.duration; t += step) {
      const x = t / profile.duration * width, text = t ? tick(t) : '0';
      context.fillRect(x, plot, 1, 4);
      if (x + context.measureText(text).width + 6 < width) context.fillText(text, x + 4, plot + 4);
    }
    if (this.from === null) return;
    const left = this.from / profile.duration * width, right = this.to / profile.duration * width;
    context.fillStyle = theme.accent;
    context.fillRect(left - 1, 0, 2, plot);
    context.fillRect(right - 1, 0, 2, plot);
    context.globalAlpha = .1;
    context.fillRect(left, 0, right - left, plot);
  }
}
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5, 10].find(n => n * power >= least) || 10);
}
