// SPDX-License-Identifier: Apache-2.0
// CPU time over time, kernel above user, of the selected threads. A span that is selected here is what all views show.
import { amount, utilisation } from './format.js';
import { addUpBars, axisFont, contextOf, drawBars, niceStep } from './time_axis.js';

const axisHeight = 17;

export class TimelineView {
  // callbacks: theme(), selected(from, to)
  constructor(canvas, profile, window, selection, callbacks) {
    Object.assign(this, {canvas, profile, window, selection, callbacks});
    window.listen(canvas, canvas, callbacks.selected);
    canvas.addEventListener('keydown', event => this.key(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }
  // To the selected span, or back to everything.
  zoom() {
    const {window, selection: {from, to}} = this;
    if (from === null || (window.from === from && window.to === to)) window.all(); else window.set(from, to);
  }
  // Arrows move the span (a tenth of what is in view, if there is none), with shift its end.
  key(event) {
    const direction = {ArrowLeft: -1, ArrowRight: 1}[event.key], zoom = {'+': .7, '=': .7, '-': 1.4}[event.key], {window, selection: {from, to}} = this, size = window.to - window.from;
    if (!direction && !zoom && event.key !== 'Enter') return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === 'Enter') return this.zoom();
    if (zoom) return window.zoomBy(zoom, from === null ? .5 : Math.max(0, Math.min(1, window.shareOf((from + to) / 2))));
    if (from === null) return this.callbacks.selected(window.from, window.from + size / 10);
    const step = direction * size / 50, {duration} = this.profile;
    if (event.shiftKey) this.callbacks.selected(from, Math.max(from + size / 100, Math.min(duration, to + step)));
    else if (from + step >= 0 && to + step <= duration) this.callbacks.selected(from + step, to + step);
  }
  draw() {
    const {canvas, profile, window, selection} = this;
    canvas.hidden = !profile.samples.time.length || !profile.timed;  // folded stacks and pprof have no times
    const theme = this.callbacks.theme();
    if (!canvas.clientWidth) return;
    const {context, width, height} = contextOf(canvas), plot = height - axisHeight, {thread} = profile.samples, {threads} = selection;
    const bars = addUpBars(profile, window, width, 1, i => !threads || threads.has(thread[i]) ? 0 : -1);
    let most = 0;
    for (let i = 0; i < bars.count; ++i) most = Math.max(most, bars.user[i] + bars.kernel[i]);
    most = niceStep(most / 1.05 || 1);  // clocks of two CPUs do not tick as one: a little more than all of them is all of them
    drawBars(context, profile, bars, 0, most, width, plot);
    window.drawSpan(context, selection, width, plot, theme);
    window.drawAxis(context, width, plot, theme);
    const text = profile.secondsPerValue ? utilisation(most, 1) + ' CPU' : profile.about.unit === 'ns' ? `${most} at once` : amount(most, profile.about.unit) + ' / s';
    canvas.setAttribute('aria-label', `${profile.secondsPerValue ? 'CPU time' : profile.about.event || 'samples'} over time, up to ${text}; drag or arrow keys select a span`);
    context.font = axisFont;
    context.globalAlpha = .8;
    context.fillStyle = theme.page;
    context.fillRect(0, 0, context.measureText(text).width + 8, 14);
    context.globalAlpha = 1;
    context.fillStyle = theme.soft;
    context.fillText(text, 3, 2);
    context.fillStyle = theme.line;
    context.fillRect(0, 0, width, 1);
  }
}
