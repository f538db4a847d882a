#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The HTML report: click, search, brush, threads, table, sandwich, keyboard, link state, hostile names; nothing on the console.
import { join } from 'node:path';
import { check, finish, launch, makePages, open, pages, settled } from './browser.mjs';

const browser = await launch();
makePages();
const picture = (page, name) => page.screenshot({path: join(pages, name + '.png')});
const ready = page => page.waitForSelector('html[data-ready=yes]');
const text = (page, selector) => page.locator(selector).innerText();
const shown = page => page.evaluate(() => cicada.flame.tree.total[0]);

let page = await open(browser, 'demo.html');
await ready(page);
await settled(page);
await picture(page, 'report-light');
check((await text(page, '#title')) === 'orderbook under load', 'the title is shown');
const all = await shown(page);
check(all === 12180, 'the total is the number of samples', all);
check(await page.evaluate(() => { const t = cicada.flame.tree; const sums = new Float64Array(t.parent.length);
  for (let i = t.parent.length; --i > 0;) sums[t.parent[i]] += t.total[i];
  return t.total.every((total, i) => total === sums[i] + t.self[i]); }), 'children and self sum to the parent');

const box = await page.locator('#flame-canvas').boundingBox();
await page.mouse.move(box.x + 200, box.y + 3 * 19 - 5);
await settled(page);
check((await text(page, '#tip')).includes('of its parent'), 'hovering explains the frame');
await page.mouse.click(box.x + 200, box.y + 3 * 19 - 5);
await settled(page);
check(page.url().includes('z='), 'a click zooms, and the address says so', page.url());
check((await text(page, '#path')).startsWith('all'), 'the path to the zoomed frame is shown');
await page.keyboard.press('Escape');
await settled(page);
check(!page.url().includes('z='), 'Escape resets the zoom', page.url());

await page.keyboard.press('/');
await page.keyboard.type('Matcher::match');
const matched = await text(page, '#matched');
check(/^\d+\.\d+ % matched$/.test(matched) && parseFloat(matched) > 20, 'search shows the matched share', matched);
await settled(page);
await picture(page, 'report-search');
await page.keyboard.press('Enter');
await settled(page);
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
await settled(page);
const part = await shown(page);
check(part > 1500 && part < 5000, 'the flame graph follows the brush', part);
check(page.url().includes('t='), 'the span is in the address');
const columns = () => page.locator('#processes .thread').evaluateAll(all => all.map(each => ({name: each.querySelector('span').innerText, used: [...each.querySelectorAll('small')].map(e => parseFloat(e.innerText) / (e.innerText.endsWith(' ms') ? 1000 : 1))})));
const ofPart = await columns();
// Truth: the samples themselves; the demo's stand for a millisecond of CPU time each.
const truth = await page.evaluate(() => { const {samples, threads} = cicada.profile, [from, to] = /t=(\d+)-(\d+)/.exec(location.hash).slice(1).map(Number), seconds = {};
  samples.time.forEach((time, i) => { const {name} = threads[samples.thread[i]]; if (time >= from && time < to) seconds[name] = (seconds[name] || 0) + samples.value[i] / 1000; });
  return {seconds, span: (to - from) / 1e6}; });
check(ofPart.length === 3 && ofPart.every(({name, used}) => Math.abs((truth.seconds[name] || 0) - used[0]) < .006 && Math.abs(100 * (truth.seconds[name] || 0) / truth.span - used[1]) < .51), 'threads show their CPU time in the span, and how much of one CPU that is', JSON.stringify([ofPart, truth]));
check(ofPart.every(({used}, i) => !i || used[0] <= ofPart[i - 1].used[0]), 'the busiest first', JSON.stringify(ofPart));
check((await text(page, '#status')).includes(' of CPU'), 'CPU time stands beside the samples', await text(page, '#status'));
await picture(page, 'report-brush');
const link = new URL(page.url()).hash;
const second = await open(browser, 'demo.html', {hash: link});
await ready(second);
check(await shown(second) === part, 'the link shows the same selection', await shown(second));
await second.close();
const ticks = () => page.evaluate(() => cicada.timeWindow.ticks(1000).map(tick => tick.text));
check((await ticks()).join() === '0 s,2 s,4 s,6 s,8 s,10 s', 'the axis has seconds since the start', (await ticks()).join());
await page.keyboard.press('z');
const zoomed = await page.evaluate(() => [cicada.timeWindow.from, cicada.timeWindow.to]);
check(zoomed.map(Math.round).join('-') === /[#&]t=([\d-]+)/.exec(page.url())[1] && page.url().includes('w='), 'z zooms the time line to the span', page.url());
await page.evaluate(() => cicada.timeWindow.set(3.2e6, 3.2004e6));
check((await ticks()).length > 2 && (await ticks()).every((tick, i) => tick === `${(3.2 + i * .00005).toFixed(5)} s`), 'and the axis stays readable', (await ticks()).join());
await page.evaluate(() => cicada.timeWindow.all());
await page.mouse.click(line.x + 500, line.y + 20);
await settled(page);
check(await shown(page) === all, 'a click in the time line clears the span');
check(JSON.stringify(await columns()) !== JSON.stringify(ofPart), 'and threads show their CPU time of everything again');
await page.keyboard.press('t');
for (const key of ['ArrowRight', 'ArrowRight', 'Shift+ArrowRight']) await page.keyboard.press(key);
await settled(page);
check(/[#&]t=200000-1400000/.test(page.url()) && await shown(page) < all, 'keys select a span, too', page.url());
await page.keyboard.press('Escape');
await settled(page);
check(await shown(page) === all && !page.url().includes('t='), 'and Escape ends it', page.url());

const row = name => page.locator('#processes label', {hasText: name});
await row('matcher').hover();
await row('matcher').locator('.only').click();
await settled(page);
const one = await shown(page);
check(one === 4519, '"only" shows one thread', one);
check(await row('orderbook').first().locator('input').evaluate(box => box.indeterminate), 'its process is checked in part');
await row('feed-reader').locator('input').check();
await settled(page);
check(await shown(page) > one, 'a check box adds a second one');
await row('All 4').locator('input').check();
await settled(page);
check(await shown(page) === all && !page.url().includes('th='), 'and one brings all back', page.url());

await page.keyboard.press('4');
await page.waitForSelector('.tracks-body .track');
const tracks = () => page.locator('.tracks-body .track-name').evaluateAll(all => all.map(each => each.innerText.replace(/\s+/g, ' ')));
check((await tracks())[0].startsWith('matcher 4712 4.52 s 45 %') && (await tracks()).length === 4, 'each thread has a track, the busiest first', (await tracks()).join(' | '));
await picture(page, 'report-tracks');
const inked = i => page.locator('.tracks-body canvas').nth(i).evaluate(canvas => { const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {willReadFrequently: true}); copy.drawImage(canvas, 0, 0);
  const {data} = copy.getImageData(0, 0, canvas.width, canvas.height), seen = [0, 0]; for (let i = 3; i < data.length; i += 4) if (data[i]) ++seen[(i >> 2) % canvas.width < canvas.width / 5 ? 0 : 1]; return seen; });
check((await inked(0))[0] === 0 && (await inked(0))[1] > 1000, 'a track shows when: the matcher begins after a quarter', (await inked(0)).join());
await page.locator('#tracks select').selectOption('cpu');
check((await tracks()).map(each => each.split(' ').slice(0, 2).join(' ')).join() === 'CPU 0,CPU 1', 'and each CPU', (await tracks()).join(' | '));
const lane = await page.locator('.tracks-body canvas').first().boundingBox();
await page.mouse.move(lane.x + lane.width / 2, lane.y + 10);
await page.mouse.down();
await page.mouse.move(lane.x + lane.width - 1, lane.y + 10, {steps: 4});
await page.mouse.up();
await settled(page);
await page.keyboard.press('1');
check(Math.abs(await shown(page) - all / 2) < 300, 'a span can be dragged in a track', await shown(page));
await page.keyboard.press('Escape');
await settled(page);

for (const by of ['program', 'process', 'thread', 'cpu', 'cgroup', 'image']) {
  await page.locator('#group').selectOption(by);
  await settled(page);
  const roots = await page.evaluate(() => { const {tree, profile} = cicada.flame; return [...tree.parent.keys()].filter(i => i && tree.parent[i] === 0)
    .map(i => [profile.functions[profile.frames.functionOf[tree.frame[i]]].name, profile.frames.kind[tree.frame[i]], tree.total[i]]); });
  check(roots.length > 0 && roots.every(([, kind]) => kind === 1), `by ${by}: groups are the root frames`, JSON.stringify(roots));
  check(roots.reduce((sum, [, , total]) => sum + total, 0) === all && await shown(page) === all, `by ${by}: groups add up to all`, JSON.stringify(roots));
  check({program: /^[^()]+$/, process: / \(\d+\)$/, thread: / \(\d+(, main)?\)$/, cpu: /^cpu \d+$/, cgroup: /./, image: /./}[by].test(roots[0][0]), `by ${by}: names`, roots[0][0]);
  if (by === 'thread') await picture(page, 'report-grouped');
}
check(page.url().includes('g=image'), 'the grouping is in the address', page.url());
await page.keyboard.press('g');
await settled(page);
check(!page.url().includes('g=') && await shown(page) === all, 'g goes round', page.url());

await page.keyboard.press('2');
await page.waitForSelector('.table-row');
const column = async i => (await page.locator('.table-row').evaluateAll((rows, n) => rows.map(row => row.children[n].innerText), i));
const selfs = (await column(0)).map(parseFloat);
check(selfs.every((value, i) => !i || value <= selfs[i - 1]), 'the table is sorted by self');
await picture(page, 'report-table');
const rowNames = () => page.locator('.table-row .name').evaluateAll(all => all.map(each => each.innerText));
const rowOn = async () => (await rowNames()).indexOf(await page.locator('.table-row.on .name').innerText()), statusIsOf = async name => (await text(page, '#status')).startsWith(name + ' — ');
await page.waitForSelector('.table-row.on', {timeout: 5000});
const begun = await rowOn();
check(begun >= 0 && await statusIsOf((await rowNames())[begun]), 'the row of the function that was picked is on', await text(page, '#status'));
await page.keyboard.press('ArrowUp');
await page.keyboard.press('ArrowUp');
check(await rowOn() === Math.max(0, begun - 2), 'arrows move in the table, no row being clicked before');
await page.locator('.table-row').nth(begun + 1).click();
check(await rowOn() === begun + 1 && await statusIsOf((await rowNames())[begun + 1]), 'the status line is of the row that was clicked', await text(page, '#status'));
check(await page.evaluate(() => cicada.flame.selected) === -1, 'and not in the hidden flame graph');
await page.keyboard.press('w');
check(await page.evaluate(() => cicada.flame.view.to === cicada.flame.all()), 'nor does it zoom');
await page.goBack();
await settled(page);
check(!page.url().includes('view=table') && await page.locator('#flame').isVisible(), 'back leads to the view before', page.url());
await page.goForward();
await settled(page);
check(await page.locator('.table-row').count() > 0 && page.url().includes('view=table'), 'and forward to the table again', page.url());
await page.locator('.table-head button', {hasText: 'Total'}).click();
const totals = (await column(1)).map(parseFloat);
check(totals.every((value, i) => !i || value <= totals[i - 1]), 'and by total after a click');
await page.locator('.table-row', {hasText: 'std::_Hash_bytes'}).dblclick();
await settled(page);
check((await text(page, '#sandwich-name')).includes('std::_Hash_bytes'), 'a double click opens callers and callees');
await picture(page, 'report-sandwich');
await page.locator('#callers-canvas').focus();
for (const key of ['ArrowUp', 'ArrowUp', 'Enter']) await page.keyboard.press(key);
await settled(page);
check((await text(page, '#status')).startsWith('std::map::find') || (await text(page, '#status')).startsWith('operator<'), 'keys move in the half that has the focus', await text(page, '#status'));
await page.keyboard.press('1');
await page.keyboard.press('i');
check(page.url().includes('up=1'), 'i turns the graph');
await settled(page);
await picture(page, 'report-flames');
await page.keyboard.press('i');
await page.keyboard.press('?');
check(await page.locator('dialog[open]').count() === 1, '? lists the keys');
await picture(page, 'report-keys');
await page.keyboard.press('Escape');
for (let i = 0; i < 4; ++i) await page.keyboard.press('ArrowDown');
const copied = page.waitForFunction(() => { const toast = document.getElementById('toast'); return !toast.hidden && toast.textContent.includes('Stack copied'); });
await page.keyboard.press('c');
await copied;  // it is there for two seconds
check(true, 'c copies the stack');
check(page.troubles.length === 0, 'no errors, no requests', page.troubles.join(' | '));
await page.close();

page = await open(browser, 'demo.html', {dark: true, width: 1000, height: 640});
await ready(page);
await settled(page);
await picture(page, 'report-dark');
await page.close();

page = await open(browser, 'diff.html');
await ready(page);
await settled(page);
await picture(page, 'report-diff');
check(await page.locator('#side').isVisible(), 'a comparison offers both directions');
const widthsBefore = await page.evaluate(() => cicada.flame.all());
await page.keyboard.press('b');
await settled(page);
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
await settled(page);
await picture(page, 'report-folded');
check(await page.locator('#timeline').isHidden(), 'without times there is no time line');
check(await page.locator('#processes').isHidden(), 'without processes there is no list of them');
check((await text(page, '#status')).includes('100 samples'), 'folded stacks have as many samples as they say', await text(page, '#status'));
check(page.troubles.length === 0, 'no errors without times', page.troubles.join(' | '));
await page.close();

page = await open(browser, 'busy.html');
await ready(page);
for (const width of [1360, 900, 420]) {
  await page.setViewportSize({width, height: 700});
  await settled(page);
  const label = await page.locator('#timeline').getAttribute('aria-label');
  check(label.includes('up to 200 % CPU'), `two busy CPUs are two CPUs in the time line, ${width} wide`, label);
}
await picture(page, 'report-busy');
await page.close();

for (const name of ['waiting.html', 'waiting.svg']) {
  page = await open(browser, name);
  await page.waitForSelector('#legend span');
  await settled(page);
  check((await text(page, '#legend')).replace(/\s+/g, ' ').trim() === 'lock 70.0 % io 30.0 % JIT of wakers', 'the legend says in which states was waited, ' + name, await text(page, '#legend'));
  const colours = await page.evaluate(() => {
    const {canvas} = cicada.flame, context = canvas.getContext('2d'), ratio = devicePixelRatio || 1;
    const at = (x, row) => '#' + [...context.getImageData(Math.round(x * canvas.clientWidth * ratio), Math.round((row * 19 + 3) * ratio), 1, 1).data.slice(0, 3)].map(n => n.toString(16).padStart(2, '0')).join('');
    return [at(.5, 1), at(.1, 2), at(.9, 2)].sort();
  });
  const known = await page.evaluate(() => cicada.profile.states.map(style => style.shades));
  check(known[1].slice(2).includes(colours[0]) && known[0].slice(0, 2).includes(colours[1]) && known[0].slice(0, 2).includes(colours[2]), 'boxes have their states\' colours, the kernel\'s the darker ones, ' + name, `${colours} ${known}`);
  await picture(page, 'report-' + name.replace('.', '-'));
  await page.close();
}

page = await open(browser, 'annotated.html');
await ready(page);
await page.keyboard.press('5');
await page.waitForSelector('.source-body .line');
check((await text(page, '.source-head select')).startsWith('is_digit'), 'the source of the hottest function is shown first');
const hot = page.locator('.line.hot').first();
check((await hot.innerText()).replace(/\s+/g, ' ') === '8.21 % 12.3 % 73 for (;;) sum = 10 * sum + *at; // </script><b>', 'a line has its samples', await hot.innerText());
check(await hot.evaluate(line => { const {top, bottom} = line.getBoundingClientRect(), body = document.querySelector('.source-body').getBoundingClientRect(); return top >= body.top && bottom <= body.bottom; }), 'the hottest line is in sight');
check(await page.locator('.gap').count() === 2, 'gaps are marked');
check((await page.locator('.source-body').innerText()).includes('401003'), 'instructions follow the source');
await picture(page, 'report-source');
await page.locator('.source-head select').selectOption({label: 'feed::decimal'});
check((await text(page, '.source-body')).startsWith('/src/x.cc: No such file'), 'what is missing is said', await text(page, '.source-body'));
await page.keyboard.press('1');
await page.keyboard.press('/');
await page.keyboard.type('tcp_recvmsg');
await page.keyboard.press('Enter');
await page.keyboard.press('5');
await settled(page);
check((await text(page, '.source-head select')).startsWith('tcp_recvmsg: not among the 2'), 'a function without code says so', await text(page, '.source-head select'));
check(page.troubles.length === 0 && await page.evaluate(() => globalThis.broken) === undefined, 'no errors with code', page.troubles.join(' | '));
await page.close();
page = await open(browser, 'demo.html');
await ready(page);
check(await page.locator('#tab-source').isHidden(), 'without code there is no such tab');
await page.close();

const {shortName} = await import('../../src/sink/flamegraph/viewer/shown_names.js');
for (const [name, short] of Object.entries({'std::map<int, A<B> >::find(int const&) const': 'std::map::find', 'void std::sort<int*, std::less<int> >(int*, int*)': 'std::sort', main: 'main',
  'operator<(Price const&, Price const&)': 'operator<', 'X::operator()(int) const': 'X::operator()', 'X::operator bool() const': 'X::operator bool', '(anonymous namespace)::f(void (*)(int))': '(anonymous namespace)::f',
  'std::ostream& operator<< <std::char_traits<char> >(std::ostream&, char const*)': 'operator<<', '<alloc::vec::Vec<T> as Trait>::method': '<alloc::vec::Vec as Trait>::method',
  'runtime.(*mcache).refill': 'runtime.(*mcache).refill', 'run (dashboard.js:42)': 'run (dashboard.js:42)', 'f(int)::{lambda(int)#1}::operator()(int) const': 'f(int)::{lambda(int)#1}::operator()', '<': '<', ')': ')'}))
  check(shortName(name) === short, `${name} is short ${short}`, shortName(name));

page = await open(browser, 'alike.html', {hash: '#view=table'});
await ready(page);
for (const width of [1280, 700, 400]) {
  await page.setViewportSize({width, height: 800});
  await settled(page);
  for (const kind of ['Short', 'Full']) {
    check(await text(page, '#names') === kind + ' names', `names are ${kind}`, await text(page, '#names'));
    const cells = page.locator('.table-row .name'), rows = await cells.allInnerTexts();
    check(rows.length === 13 && new Set(rows).size === 13, `${width} pixels: no two rows read alike, ${kind}`, rows.join(' | '));
    check(await cells.evaluateAll(all => all.every(cell => cell.scrollWidth <= cell.clientWidth)), 'and none is cut by the column', rows.join(' | '));
    if (width === 1280 && kind === 'Short') check(rows.includes('main') && rows.some(row => row.startsWith('std::sort…')) && !rows.some(row => row.startsWith('void')), 'short ones have no return types', rows.join(' | '));
    await picture(page, `report-alike-${width}-${kind}`);
    await page.keyboard.press('l');
    await settled(page);
  }
}
check((await page.locator('.table-row').first().getAttribute('title')).startsWith('void std::'), 'the whole name on hover');
check(page.troubles.length === 0, 'no errors with names that are alike', page.troubles.join(' | '));
await page.close();

page = await open(browser, 'threads.html');
await ready(page);
check((await page.locator('#processes label').first().innerText()).startsWith('All 200 threads'), 'there are 200 threads');
const everything = await shown(page);
await page.locator('#processes > input').fill('worker-17');
const names = () => page.locator('#processes .thread').evaluateAll(all => all.map(each => each.querySelector('span').innerText));
check((await names()).length === 11 && (await names()).every(name => name.startsWith('worker-17')), 'a field finds the one among them', (await names()).join());
await page.locator('#processes .all input').uncheck();
await settled(page);
const without = await shown(page);
check(without < everything && /th=(!|%21)[\d.]+/.test(page.url()), 'what was found can be left out together; the address stays short', page.url());
await page.locator('#processes .all .only').focus();
await page.keyboard.press('Enter');
await settled(page);
check(await shown(page) === everything - without, '"only" what was found', await shown(page));
await picture(page, 'report-threads');
await page.reload();
await ready(page);
check(await shown(page) === everything - without && await page.locator('#processes .all input').evaluate(box => box.indeterminate), 'and a link keeps it');
check(page.troubles.length === 0, 'no errors with 200 threads', page.troubles.join(' | '));
await page.close();

for (const file of ['hostile.html', 'empty.html']) {
  page = await open(browser, file);
  await ready(page);
  await settled(page);
  await picture(page, file.replace('.', '-'));
  for (const key of ['2', '3', '1']) { await page.keyboard.press(key); await settled(page); }
  check(await page.evaluate(() => globalThis.broken) === undefined, file + ': no name became code');
  check(page.troubles.length === 0, file + ': no errors, no requests', page.troubles.join(' | '));
  await page.close();
}
await browser.close();
finish();
