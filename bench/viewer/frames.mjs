// SPDX-License-Identifier: Apache-2.0
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { launch, makePages, open, pages } from '../../tests/browser/browser.mjs';

const browser = await launch();
console.log('   nodes      file     open   frames/s (median, worst tenth)   boxes drawn   draw, median   every node, plain loop   ratio');
for (const nodes of [100000, 500000]) {
  makePages(String(nodes));
  const begun = Date.now(), page = await open(browser, 'big.html', {width: 1600, height: 900});
  await page.waitForSelector('html[data-ready=yes]', {timeout: 120000});
  await page.waitForTimeout(50);
  const opened = Date.now() - begun;
  const result = await page.evaluate(async () => {
    const {flame} = cicada, median = list => list.sort((a, b) => a - b)[list.length >> 1];
    const draws = [], frames = [], frame = () => new Promise(done => requestAnimationFrame(done));
    let last = await frame(), boxes = 0;
    for (let i = 0; i < 240; ++i) {  // in and out again, sideways, down and up: every frame differs
      const all = flame.all(), size = all * (.02 + .98 * Math.abs(Math.cos(i / 240 * Math.PI * 3))), from = (all - size) * i / 240;
      flame.view.from = from; flame.view.to = from + size; flame.view.scroll = flame.maxScroll() * Math.abs(Math.sin(i / 80));
      const start = performance.now();
      boxes = Math.max(boxes, flame.drawNow());
      draws.push(performance.now() - start);
      const now = await frame();
      frames.push(now - last);
      last = now;
    }
    const {layout, canvas} = flame, context = canvas.getContext('2d'), plain = [];
    for (let round = 0; round < 5; ++round) {
      const start = performance.now(), scale = canvas.width / flame.all();
      context.fillStyle = '#fa4';
      for (let row = 0, at = 0; row < layout.rows.length; ++row) {
        const end = row + 1 < layout.rows.length ? layout.rows[row + 1] : layout.node.length;
        for (; at < end; ++at) {
          context.fillRect(layout.start[at] * scale, row * 19, (layout.end[at] - layout.start[at]) * scale, 18);
        }
      }
      context.getImageData(0, 0, 1, 1);
      plain.push(performance.now() - start);
    }
    frames.sort((a, b) => a - b);
    return {fps: 1000 / frames[frames.length >> 1], worst: 1000 / frames[Math.floor(frames.length * .9)], draw: median(draws), boxes, plain: median(plain)};
  });
  console.log(`${String(nodes).padStart(8)} ${(statSync(join(pages, 'big.html')).size / 1e6).toFixed(1).padStart(6)} MB ${String(opened).padStart(5)} ms ${result.fps.toFixed(1).padStart(10)} ${result.worst.toFixed(1).padStart(8)} ${String(result.boxes).padStart(26)} ${result.draw.toFixed(1).padStart(11)} ms ${result.plain.toFixed(1).padStart(19)} ms ${(result.plain / result.draw).toFixed(1).padStart(9)}x`);
  await page.close();
}
await browser.close();
