#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The HTML report: click, search, brush, threads, table, sandwich, keyboard, link state, hostile names; nothing on the console.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { check, finish, launch, makePages, open, pages } from './browser.mjs';

const browser = await launch();
makePages();
const picture = (page, name) => page.screenshot({path: join(pages, name + '.png')});
const ready = page => page.waitForSelector('html[data-ready=yes]');
const text = (page, selector) => page.locator(selector).innerText();
const shown = page => page.evaluate(() => cicada.flame.tree.total[0]);

let page = await open(browser, 'demo.html');
await ready(page);
await page.waitForTimeout(300);
await picture(page, 'report-light');
check((await text(page, '#title')) === 'orderbook under load', 'the title is shown');
const all = await shown(page);
check(all === 12180, 'the total is the number of samples', all);
check(await page.evaluate(() => { const t = cicada.flame.tree; const sums = new Float64Array(t.parent.length);
  for (let i = t.parent.length; --i > 0;) sums[t.parent[i]] += t.total[i];
  return t.total.every((total, i) => total === sums[i] + t.self[i]); }), 'children and self sum to the parent');

const box = await page.locator('#flame-canvas').boundingBox();
await page.mouse.move(box.x + 200, box.y + 3 * 19 - 5);
await page.waitForTimeout(60);
check((await text(page, '#tip')).includes('of its parent'), 'hovering explains the frame');
await page.mouse.click(box.x + 200, box.y + 3 * 19 - 5);
await page.waitForTimeout(350);
check(page.url().includes('z='), 'a click zooms, and the address says so', page.url());
check((await text(page, '#path')).startsWith('all'), 'the path to the zoomed frame is shown');
await page.keyboard.press('Escape');
await page.waitForTimeout(350);
check(!page.url().includes('z='), 'Escape resets the zoom', page.url());

await page.keyboard.press('/');
await page.keyboard.type('Matcher::match');
const matched = await text(page, '#matched');
check(/^\d+\.\d+ % matched$/.test(matched) && parseFloat(matched) > 20, 'search shows the matched share', matched);
await page.waitForTimeout(100);
await picture(page, 'report-search');
await page.keyboard.press('Enter');
await page.waitForTimeout(100);
check((await text(page, '#status')).includes('Matcher::match'), 'Enter selects the first match', await text(page, '#status'));
await page.keyboard.press('Escape');
check(await page.locator('#search').inputValue() === '' && (await text(page, '#matched')) === '', 'Escape clears the search, wherever the focus is');
await page.locator('#search').fill('Matcher::match');
await page.locator('#search').fill('(');
check(await page.locator('#search.bad').count() === 1, 'a broken expression is marked');
await page.locator('#search').fill('');

const line = await page.locator('#timeline').boundingBox();
await page.mouse.move(line.x + 20, line.y + 20);
await page.mouse.down();
await page.mouse.move(line.x + line.width / 4, line.y + 20, {steps: 5});
await page.mouse.up();
await page.waitForTimeout(100);
const part = await shown(page);
check(part > 1500 && part < 5000, 'the flame graph follows the brush', part);
check(page.url().includes('t='), 'the span is in the address');
const shares = () => page.locator('#processes button.thread small').evaluateAll(all => all.map(each => each.innerText));
const sharesOfPart = await shares();
const truth = await page.evaluate(() => { const {samples, threads} = cicada.profile, [from, to] = /t=(\d+)-(\d+)/.exec(location.hash).slice(1).map(Number), sums = threads.map(() => 0);
  samples.time.forEach((time, i) => { if (time >= from && time < to) sums[samples.thread[i]] += samples.value[i]; });
  return sums; });
check(sharesOfPart.every(each => truth.some(sum => Math.abs(100 * sum / part - parseFloat(each)) < .06 || (!sum && !parseFloat(each)))), 'threads show their share of the span', sharesOfPart.join());
await picture(page, 'report-brush');
const link = new URL(page.url()).hash;
const second = await open(browser, 'demo.html', {hash: link});
await ready(second);
check(await shown(second) === part, 'the link shows the same selection', await shown(second));
await second.close();
await page.mouse.click(line.x + 500, line.y + 20);
await page.waitForTimeout(100);
check(await shown(page) === all, 'a click in the time line clears it');
check((await shares()).join() !== sharesOfPart.join(), 'and threads show their share of everything again');

await page.locator('#processes button', {hasText: 'matcher'}).click();
await page.waitForTimeout(100);
const one = await shown(page);
check(one > 0 && one < all, 'a thread can be selected', one);
await page.locator('#processes button', {hasText: 'feed-reader'}).click({modifiers: ['Control']});
await page.waitForTimeout(100);
check(await shown(page) > one, 'and a second one');
await page.locator('#processes button').first().click();

for (const by of ['program', 'process', 'thread', 'cpu', 'cgroup', 'image']) {
  await page.locator('#group').selectOption(by);
  await page.waitForTimeout(60);
  const roots = await page.evaluate(() => { const {tree, profile} = cicada.flame; return [...tree.parent.keys()].filter(i => i && tree.parent[i] === 0)
    .map(i => [profile.functions[profile.frames.functionOf[tree.frame[i]]].name, profile.frames.kind[tree.frame[i]], tree.total[i]]); });
  check(roots.length > 0 && roots.every(([, kind]) => kind === 1), `by ${by}: groups are the root frames`, JSON.stringify(roots));
  check(roots.reduce((sum, [, , total]) => sum + total, 0) === all && await shown(page) === all, `by ${by}: groups add up to all`, JSON.stringify(roots));
  check({program: /^[^()]+$/, process: / \(\d+\)$/, thread: / \(\d+(, main)?\)$/, cpu: /^cpu \d+$/, cgroup: /./, image: /./}[by].test(roots[0][0]), `by ${by}: names`, roots[0][0]);
  if (by === 'thread') await picture(page, 'report-grouped');
}
check(page.url().includes('g=image'), 'the grouping is in the address', page.url());
await page.keyboard.press('g');
await page.waitForTimeout(60);
check(!page.url().includes('g=') && await shown(page) === all, 'g goes round', page.url());

await page.keyboard.press('2');
await page.waitForSelector('.table-row');
const column = async i => (await page.locator('.table-row').evaluateAll((rows, n) => rows.map(row => row.children[n].innerText), i));
const selfs = (await column(0)).map(parseFloat);
check(selfs.every((value, i) => !i || value <= selfs[i - 1]), 'the table is sorted by self');
await picture(page, 'report-table');
const rowNames = () => page.locator('.table-row .name').evaluateAll(all => all.map(each => each.innerText));
await page.keyboard.press('ArrowDown');
await page.keyboard.press('ArrowDown');
check((await page.locator('.table-row.on .name').innerText()) === (await rowNames())[1], 'arrows move in the table, no row being clicked before');
check(await page.evaluate(() => cicada.flame.selected) === -1, 'and not in the hidden flame graph');
await page.keyboard.press('w');
check(await page.evaluate(() => cicada.flame.view.to === cicada.flame.all()), 'nor does it zoom');
await page.goBack();
check(!page.url().includes('view=table') && await page.locator('#flame').isVisible(), 'back leads to the view before', page.url());
await page.goForward();
check(await page.locator('.table-row').count() > 0 && page.url().includes('view=table'), 'and forward to the table again', page.url());
await page.locator('.table-head button', {hasText: 'Total'}).click();
const totals = (await column(1)).map(parseFloat);
check(totals.every((value, i) => !i || value <= totals[i - 1]), 'and by total after a click');
await page.locator('.table-row', {hasText: 'std::_Hash_bytes'}).dblclick();
await page.waitForTimeout(150);
check((await text(page, '#sandwich-name')).includes('std::_Hash_bytes'), 'a double click opens callers and callees');
await picture(page, 'report-sandwich');
await page.keyboard.press('1');
await page.keyboard.press('i');
check(page.url().includes('up=1'), 'i turns the graph');
await page.waitForTimeout(100);
await picture(page, 'report-flames');
await page.keyboard.press('i');
await page.keyboard.press('?');
check(await page.locator('dialog[open]').count() === 1, '? lists the keys');
await picture(page, 'report-keys');
await page.keyboard.press('Escape');
for (let i = 0; i < 4; ++i) await page.keyboard.press('ArrowDown');
await page.keyboard.press('c');
await page.waitForTimeout(100);
check((await text(page, '#toast')).includes('Stack copied'), 'c copies the stack', await text(page, '#toast'));
check(page.troubles.length === 0, 'no errors, no requests', page.troubles.join(' | '));
await page.close();

page = await open(browser, 'demo.html', {dark: true, width: 1000, height: 640});
await ready(page);
await page.waitForTimeout(250);
await picture(page, 'report-dark');
await page.close();

page = await open(browser, 'diff.html');
await ready(page);
await page.waitForTimeout(200);
await picture(page, 'report-diff');
check(await page.locator('#side').isVisible(), 'a comparison offers both directions');
const widthsBefore = await page.evaluate(() => cicada.flame.all());
await page.keyboard.press('b');
await page.waitForTimeout(100);
check(await page.evaluate(() => cicada.flame.all()) !== widthsBefore, 'b draws the widths of before');
await page.keyboard.press('2');
await page.waitForSelector('.table-row');
check((await page.locator('.table-head button').allInnerTexts()).join() === 'Self before,Self after,Self change,Total before,Total after,Total change,Function,Image', 'the table of a comparison has before, after and change',
    (await page.locator('.table-head button').allInnerTexts()).join());
const cells = await page.locator('.table-row').evaluateAll(rows => rows.map(row => [...row.children].slice(0, 6).map(cell => parseFloat(cell.querySelector('b').innerText.replace('−', '-')) || 0)));
check(cells.length > 2 && cells.every(([a, b, c, d, e, f]) => Math.abs(b - a - c) < .12 && Math.abs(e - d - f) < .12), 'change is after less before', JSON.stringify(cells.slice(0, 3)));
check(cells.every((row, i) => !i || row[2] <= cells[i - 1][2]), 'and the largest growth is first');
await picture(page, 'report-diff-table');
check(page.troubles.length === 0, 'no errors in a comparison', page.troubles.join(' | '));
await page.setViewportSize({width: 380, height: 700});
const fallen = await page.locator('button:visible, select:visible, input:visible').evaluateAll(all => all.filter(e => !e.closest('.table-head') && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.id));
check(fallen.length === 0, 'every button is there on a narrow page', fallen.join());
await page.close();

page = await open(browser, 'folded.html');
await ready(page);
await page.waitForTimeout(150);
await picture(page, 'report-folded');
check(await page.locator('#timeline').isHidden(), 'without times there is no time line');
check(await page.locator('#processes').isHidden(), 'without processes there is no list of them');
check((await text(page, '#status')).includes('100 samples'), 'folded stacks have as many samples as they say', await text(page, '#status'));
check(page.troubles.length === 0, 'no errors without times', page.troubles.join(' | '));
await page.close();

const {tick} = await import('data:text/javascript,' + encodeURIComponent(readFileSync(new URL('../../src/sink/flamegraph/viewer/format.js', import.meta.url), 'utf8')));
const ticks = [10, 200, 1500, 100000, 2e6, 2.5e6].map(tick).join(', ');
check(ticks === '10 µs, 200 µs, 1.5 ms, 100 ms, 2 s, 2.5 s', 'ticks of the time line keep their zeros', ticks);

for (const file of ['hostile.html', 'empty.html']) {
  page = await open(browser, file);
  await ready(page);
  await page.waitForTimeout(150);
  await picture(page, file.replace('.', '-'));
  for (const key of ['2', '3', '1']) { await page.keyboard.press(key); await page.waitForTimeout(60); }
  check(await page.evaluate(() => globalThis.broken) === undefined, file + ': no name became code');
  check(page.troubles.length === 0, file + ': no errors, no requests', page.troubles.join(' | '));
  await page.close();
}
await browser.close();
finish();
