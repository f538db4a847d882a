#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The SVG flame graph: well-formed, search, click zoom, hover, differences, hostile names, and as a picture without scripts.
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { check, finish, launch, makePages, open, pages } from './browser.mjs';

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

const page = await open(browser, 'demo.svg');
const rects = () => page.locator('#frames rect').count(), before = await rects();
check(before > 20, 'frames are drawn', before);
const label = page.locator('#frames text', {hasText: 'exchange::Matcher::match'}).first(), at = await label.boundingBox();
await page.mouse.move(at.x + 10, at.y + 6);
const tip = await page.locator('#tip').innerText();
const tipBox = await page.locator('#tip').boundingBox();
check(tipBox.width > 200 && tipBox.height < 160, 'the explanation is a box of lines, not a column of words', JSON.stringify(tipBox));
check(tip.includes('of its caller') && tip.includes('samples') && tip.includes('orderbook'), 'hovering explains the frame', tip);
await page.mouse.click(at.x + 10, at.y + 6);
const wide = await page.locator('#frames text', {hasText: 'exchange::Matcher::match'}).first().boundingBox();
check(wide.x < 40, 'a click zooms to the frame', wide.x);
check((await page.locator('#path').innerText()).startsWith('all ›'), 'the path back is shown');
await picture(page, 'svg-zoomed');
await page.locator('#path a').first().click();
check(await rects() === before, 'the path leads back', await rects());
await page.keyboard.press('/');
await page.keyboard.type('tcp_|vfs');
check(/^\d+\.\d+ % matched$/.test(await page.locator('#matched').innerText()), 'search shows the matched share', await page.locator('#matched').innerText());
check(await page.locator('#frames rect.hit').count() > 0, 'matches are marked');
await picture(page, 'svg-search');
await page.keyboard.press('Enter');
await page.keyboard.press('Escape');
check(await page.evaluate(() => document.getElementById('search').value) === '' && await page.locator('#frames rect.hit').count() === 0, 'Escape clears the search, wherever the focus is');
const narrow = await open(browser, 'diff.svg', {width: 360});
await narrow.waitForSelector('#search');
const fallen = await narrow.locator('#bar button, #bar input').evaluateAll(all => all.filter(e => getComputedStyle(e).display !== 'none' && (e.getBoundingClientRect().right > innerWidth || e.getBoundingClientRect().left < 0)).length);
check(fallen === 0, 'every button is there on a narrow page', fallen);
await narrow.close();
await page.keyboard.press('f');
await picture(page, 'svg-flames');
check(page.troubles.length === 0, 'no errors, no requests', page.troubles.join(' | '));
const dark = await open(browser, 'demo.svg', {dark: true, width: 900});
await picture(dark, 'svg-dark');
// Contrast as WCAG has it: 4.5 for text, on the page and on the frames.
const contrasts = await dark.evaluate(() => {
  const light = color => { const [r, g, b] = color.match(/[\d.]+/g).slice(0, 3).map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const style = element => getComputedStyle(element), page = style(document.documentElement).backgroundColor, ink = style(document.querySelector('#frames text')).fill;
  const on = [...document.querySelectorAll('#frames rect')].map(rect => contrast(style(rect).fill, ink));
  return {page: light(page), title: contrast(page, style(document.querySelector('#title')).fill), note: contrast(page, style(document.querySelector('.note')).fill), frames: Math.min(...on)};
});
check(contrasts.page < 0.05 && Math.min(contrasts.title, contrasts.note, contrasts.frames) >= 4.5, 'dark and readable', JSON.stringify(contrasts));
await browser.close();
finish();
