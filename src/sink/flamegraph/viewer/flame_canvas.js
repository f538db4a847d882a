// SPDX-License-Identifier: Apache-2.0
// Draws a layout. A row draws at most one sliver a pixel: after a child narrower than a pixel, a binary search jumps to the
// first that reaches the next pixel, and slivers have no rows below them. So 500,000 nodes cost what the screen can show.
import { inlinedKind } from './profile_data.js';
import { firstEndingAfter } from './layout.js';

export const rowHeight = 19;
const hitColour = '#c2187a';
const font = '11.5px ui-sans-serif, system-ui, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';
const widths = new Map();

// `view`: {from, to, scroll, upward}; `look`: {matches, hovered, selected, focus, theme}. Returns how many boxes were drawn.
export function drawFlame(canvas, profile, tree, layout, view, look) {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext('2d', {alpha: false});
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = look.theme.page;
  context.fillRect(0, 0, width, height);
  const scale = width / (view.to - view.from), pixel = 1 / scale, boxes = new Map(), labels = [];
  const {functionOf} = profile.frames, {node, start, end, firstChild} = layout;
  let row = [0], drawn = 0;
  for (let depth = 0; row.length; ++depth) {
    const y = view.upward ? height - (depth + 1) * rowHeight + view.scroll : depth * rowHeight - view.scroll;
    if (view.upward ? y + rowHeight < 0 : y > height) break;
    const visible = y + rowHeight > 0 && y < height, next = [];
    for (const above of row) {
      const low = depth ? firstChild[above] : 0, high = depth ? firstChild[above + 1] : 1;
      for (let at = firstEndingAfter(layout, low, high, view.from); at < high && start[at] < view.to;) {
        const wide = end[at] - start[at] >= pixel, x = (start[at] - view.from) * scale, of = node[at];
        if (visible) {
          const frame = tree.frame[of], hit = look.matches && look.matches[functionOf[frame]];
          const colour = hit ? hitColour : tree.before
              ? profile.about.heat[tree.heat[of]]
              : profile.colourOf(tree, of);
          let batch = boxes.get(colour);
          if (!batch) boxes.set(colour, batch = []);
          const left = Math.max(x, -2), right = Math.min((end[at] - view.from) * scale, width + 2);
          batch.push(left, y, wide ? right - left : 1);
          ++drawn;
          if (wide && right - left > 22) labels.push(left, y, right - left, frame, hit ? 1 : 0);
        }
        if (wide) { next.push(at); ++at; } else at = firstEndingAfter(layout, at + 1, high, start[at] + pixel);
      }
    }
    row = next;
  }
  for (const [colour, batch] of boxes) {
    context.fillStyle = colour;
    context.globalAlpha = look.matches && colour !== hitColour ? .38 : 1;
    for (let i = 0; i < batch.length; i += 3)
      context.fillRect(batch[i], batch[i + 1], batch[i + 2] > 4 ? batch[i + 2] - 1 : batch[i + 2], rowHeight - 1);
  }
  context.globalAlpha = 1;
  drawLabels(context, profile, labels, look);
  for (const [at, strong] of [[look.hovered, false], [look.selected, true]]) {
    if (at === undefined || at < 0 || at >= node.length) continue;
    const depth = depthOf(layout, at), y = view.upward ? height - (depth + 1) * rowHeight + view.scroll : depth * rowHeight - view.scroll;
    const left = Math.max((start[at] - view.from) * scale, 0), right = Math.min((end[at] - view.from) * scale, width);
    if (right < 0 || left > width) continue;
    context.strokeStyle = look.theme.ink;
    context.lineWidth = strong ? 2 : 1;
    context.strokeRect(left + .5, y + .5, Math.max(1, right - left - 2), rowHeight - 2);
  }
  return drawn;
}

function drawLabels(context, profile, labels, look) {
  const {functionOf, kind} = profile.frames;
  context.font = font;
  context.textBaseline = 'middle';
  for (const italic of [false, true]) {
    if (italic) context.font = 'italic ' + font;
    for (let i = 0; i < labels.length; i += 5) {
      const frame = labels[i + 3];
      if ((kind[frame] === inlinedKind) !== italic) continue;
      const dim = look.matches && !labels[i + 4];
      context.fillStyle = labels[i + 4] ? '#fff' : dim ? look.theme.soft : '#1a1c22';
      const f = functionOf[frame], whole = profile.functions[f].name, room = labels[i + 2] - 9, text = (!profile.shown.full && whole && whole.length < 400 && widthOf(context, whole) <= room) ? whole : fitted(context, profile.shown.of(f), room);
      if (text) context.fillText(text, labels[i] + 4, labels[i + 1] + rowHeight / 2);
    }
  }
}

function letterWidth(context, letter) {
  let width = widths.get(letter);
  if (width === undefined) widths.set(letter, width = context.measureText(letter).width);
  return width;
}

function widthOf(context, text) {
  let sum = 0;
  for (const letter of text) sum += letterWidth(context, letter);
  return sum;
}

// As much of the text as `room` pixels hold, by the sum of its letters' widths: measuring each text costs ten times as much.
function fitted(context, text, room) {
  const dots = letterWidth(context, '…');
  let used = 0, cut = 0;
  for (let i = 0; i < text.length; ++i) {
    used += letterWidth(context, text[i]);
    if (used + dots <= room) cut = i + 1;
    if (used > room) return cut ? text.slice(0, cut) + '…' : '';
  }
  return text;
}

export function depthOf(layout, at) {
  let low = 0, high = layout.rows.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (layout.rows[middle] <= at) low = middle; else high = middle;
  }
  return low;
}
