#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The SVG flame graph: well-formed, search, click zoom, hover, differences, hostile names, and as a picture without scripts.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { check, finish, launch, makePages, open, pages, settled, skip } from './browser.mjs';

const browser = await launch();
makePages();
const picture = (page, name) => page.screenshot({path: join(pages, name + '.png')});

const blank = await browser.newPage();
for (const name of ['demo', 'hostile', 'empty', 'diff']) {
  const error = await blank.evaluate(text => new DOMParser().parseFromString(text, 'image/svg+xml').querySelector('parsererror')?.textContent || '', readFileSync(join(pages, name + '.svg'), 'utf8'));
  check(error === '', `${name}.svg is well-formed`, error);
  const page = await open(browser, name + '.svg');
  await page.waitForSelector('#search');
  await picture(page, 'svg-' + name);
  check(await page.evaluate(() => globalThis.broken) === undefined && page.troubles.length === 0, `${name}.svg: nothing on the console, no requests`, page.troubles.join(' | '));
  await page.close();
}
await blank.close();

// Without scripts it is a picture.
const still = await open(browser, 'demo.svg', {scripts: false, dark: true});
const rects = await still.locator('#frames rect').count();
check(rects > 20 && await still.locator('#frames text', {hasText: 'exchange::Matcher::match'}).count() > 0, 'frames are drawn', rects);
await picture(still, 'svg-still');
await still.close();

// Other programs draw it, too, whatever is behind it: nothing is black, the page is white, frames and words have their colours.
const drawn = join(pages, 'svg-librsvg.png');
try { execFileSync('rsvg-convert', ['--background-color=black', '-o', drawn, join(pages, 'demo.svg')]); } catch (error) { if (error.code === 'ENOENT') skip('no rsvg-convert: apt-get install librsvg2-bin'); throw error; }
const paper = await browser.newPage(), colours = await paper.evaluate(async source => {
  const image = new Image(), canvas = document.createElement('canvas'), found = {};
  image.src = source;
  await image.decode();
  Object.assign(canvas, {width: image.width, height: image.height});
  const context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const {data} = context.getImageData(0, 0, image.width, image.height);
  for (let i = 0; i < data.length; i += 4) { const colour = [data[i], data[i + 1], data[i + 2]].join(); found[colour] = (found[colour] || 0) + 1; }
  return {found, all: data.length / 4};
}, 'data:image/png;base64,' + readFileSync(drawn).toString('base64'));
await paper.close();
const most = Object.entries(colours.found).sort((a, b) => b[1] - a[1]).slice(0, 8).join(' | ');
check(!colours.found['0,0,0'] && colours.found['255,255,255'] > colours.all * .3, 'librsvg draws a white page and nothing black', most);
check(['255,176,103', '255,164,87', '255,188,125', '251,154,75'].some(shade => colours.found[shade] > colours.all * .01), 'and native frames in their colour', most);
check(colours.found['27,33,48'] > 20 && colours.found['104,115,138'] > 50, 'and the words in theirs', most);

const page = await open(browser, 'demo.svg');
await page.waitForSelector('#search');
const boxOf = name => page.evaluate(name => {
  const {flame, profile} = cicada, {layout, tree, view} = flame, f = profile.functions.findIndex(f => f.name.startsWith(name)), box = flame.canvas.getBoundingClientRect();
  const at = layout.node.findIndex(node => profile.frames.functionOf[tree.frame[node]] === f), row = layout.rows.findLastIndex(first => first <= at), scale = box.width / (view.to - view.from);
  return {x: box.x + (layout.start[at] - view.from) * scale, y: box.y + row * 19, width: (layout.end[at] - layout.start[at]) * scale};
}, name);
check(await page.evaluate(() => cicada.flame.drawNow()) >= rects - 1, 'the script draws what the picture had');
check(await page.evaluate(() => { const {tree} = cicada.flame, below = tree.self.map((self, i) => self + cicada.profile.values.rest[i]);
  for (let i = below.length; --i > 0;) below[tree.parent[i]] += tree.total[i];
  return tree.total[0] === 12180 && below.every((sum, i) => sum === tree.total[i]); }), 'values add up to the samples');
const at = await boxOf('exchange::Matcher::match');
await page.mouse.move(at.x + 10, at.y + 6);
const tip = await page.locator('#tip').innerText();
const tipBox = await page.locator('#tip').boundingBox();
check(tipBox.width > 200 && tipBox.height < 160, 'the explanation is a box of lines, not a column of words', JSON.stringify(tipBox));
check(Math.abs(tipBox.x - at.x - 24) < 2 && Math.abs(tipBox.y - at.y - 24) < 2, 'beside the pointer', JSON.stringify([tipBox, at]));
check(tip.includes('of its parent') && tip.includes('samples') && tip.includes('orderbook'), 'hovering explains the frame', tip);
await picture(page, 'svg-tip');
await page.mouse.click(at.x + 10, at.y + 6);
await settled(page);
check((await boxOf('exchange::Matcher::match')).x < 40, 'a click zooms to the frame');
check((await page.locator('#path').innerText()).startsWith('all ›'), 'the path back is shown');
await picture(page, 'svg-zoomed');
await page.locator('#path button').first().click();
await settled(page);
check((await boxOf('exchange::Matcher::match')).x === at.x, 'the path leads back');
await page.keyboard.press('ArrowDown');
await page.keyboard.press('ArrowDown');
await page.keyboard.press('Enter');
await settled(page);
check(await page.evaluate(() => cicada.flame.zoomedNode) > 0, 'keys select and zoom');
await page.keyboard.press('Escape');
await page.keyboard.press('/');
await page.keyboard.type('tcp_|vfs');
check(/^\d+\.\d+ % matched$/.test(await page.locator('#matched').innerText()), 'search shows the matched share', await page.locator('#matched').innerText());
await settled(page);
await picture(page, 'svg-search');
await page.keyboard.press('Enter');
check(await page.evaluate(() => /tcp_|vfs/.test(cicada.profile.functions[cicada.profile.frames.functionOf[cicada.flame.tree.frame[cicada.flame.layout.node[cicada.flame.selected]]]].name)), 'Enter selects a match');
await page.keyboard.press('Escape');
check(await page.evaluate(() => document.getElementById('search').value) === '' && await page.locator('#matched').innerText() === '', 'Escape clears the search, wherever the focus is');
const narrow = await open(browser, 'diff.svg', {width: 360});
await narrow.waitForSelector('#search');
const fallen = await narrow.locator('#page button, #page input').evaluateAll(all => all.filter(e => getComputedStyle(e).display !== 'none' && (e.getBoundingClientRect().right > innerWidth || e.getBoundingClientRect().left < 0)).length);
check(fallen === 0, 'every button is there on a narrow page', fallen);
const after = await narrow.evaluate(() => cicada.flame.all());
await narrow.keyboard.press('b');
check(await narrow.evaluate(() => cicada.flame.all()) !== after, 'b draws the widths of before');
await picture(narrow, 'svg-narrow');
await narrow.close();
await page.keyboard.press('f');
await settled(page);
await picture(page, 'svg-flames');
check(page.troubles.length === 0, 'no errors, no requests', page.troubles.join(' | '));
const dark = await open(browser, 'demo.svg', {dark: true, width: 900});
await dark.waitForSelector('#search');
await settled(dark);
await picture(dark, 'svg-dark');
// Contrast as WCAG has it: 4.5 for text, on the page and on the frames.
const contrasts = await dark.evaluate(() => {
  const light = color => { const [r, g, b] = (color[0] === '#' ? color.match(/\w\w/g).map(c => parseInt(c, 16)) : color.match(/[\d.]+/g)).slice(0, 3).map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const style = id => getComputedStyle(document.getElementById(id)), page = style('page').backgroundColor;
  return {page: light(page), title: contrast(page, style('title').color), note: contrast(page, style('subtitle').color), frames: Math.min(...cicada.profile.kinds.flatMap(kind => kind.shades.map(shade => contrast(shade, '#1a1c22'))))};
});
check(contrasts.page < 0.05 && Math.min(contrasts.title, contrasts.note, contrasts.frames) >= 4.5, 'dark and readable', JSON.stringify(contrasts));
await browser.close();
finish();
