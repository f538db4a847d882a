#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// A page that follows a recording: what is looked at stays while the recording goes on, the view freezes, the server may stop and come again.
// Arguments: a running `cicada serve`'s address, a folder for pictures, npm's folder, and a command that stops it, one that lets it go on, one that starts it again, one that ends what is recorded.
import { execFileSync } from 'node:child_process';
import { get, request } from 'node:http';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { check, finish, hangs, launch, settled } from './browser.mjs';

const [address, pictures, , stop, go, again, end] = process.argv.slice(2);
const run = command => execFileSync('bash', ['-c', command], {stdio: 'inherit'});
mkdirSync(pictures, {recursive: true});
const browser = await launch();

async function openPage({width = 1360, height = 820, hash = '', at = address} = {}) {
  const page = await browser.newPage({viewport: {width, height}});
  page.setDefaultTimeout(hangs);
  page.troubles = [];
  page.on('console', message => { if (['error', 'warning'].includes(message.type())) page.troubles.push(message.text()); });
  page.on('pageerror', error => page.troubles.push(String(error)));
  page.on('request', made => { if (!made.url().startsWith(address) && !made.url().startsWith('data:')) page.troubles.push('request ' + made.url()); });
  await page.goto(at + hash);
  await page.waitForSelector('html[data-ready=yes]');
  return page;
}
const samples = page => page.evaluate(() => cicada.profile.samples.time.length);
const more = (page, than) => page.waitForFunction(before => cicada.profile.samples.time.length > before, than);
// Names come some moments after the samples (symbolize/symbolizer.h).
const named = one => one.waitForFunction(() => cicada.profile.functions.some(({name}) => name === 'main'));
const text = (page, selector) => page.locator(selector).innerText();
const fetched = (path, options = {}) => new Promise((done, failed) => {
  const made = request(new URL(path, address), options, answer => { const pieces = []; answer.on('data', piece => pieces.push(piece)); answer.on('end', () => done({status: answer.statusCode, headers: answer.headers, body: Buffer.concat(pieces)})); });
  made.on('error', failed);
  made.end();
});

const page = await openPage(), other = await openPage({width: 900}), third = await openPage();
await more(page, 300);
await named(page);
check(await text(page, '#live-state') === 'live', 'the page says that it is live', await text(page, '#live-state'));
// What a node is called, and how wide it is drawn.
const zoomed = () => page.evaluate(() => { const {flame, profile} = cicada, {tree} = flame, f = profile.functions[profile.frames.functionOf[tree.frame[flame.zoomedNode || 0]]];
  const place = flame.layout.node.indexOf(flame.zoomedNode || 0); return {name: f.name, value: tree.total[flame.zoomedNode || 0], fills: Math.abs(flame.layout.start[place] - flame.view.from) + Math.abs(flame.layout.end[place] - flame.view.to) < 1e-6}; });
const main = await page.evaluate(() => { const {flame, profile} = cicada, {tree} = flame;
  const node = tree.frame.findIndex((frame, i) => profile.functions[profile.frames.functionOf[frame]].name === 'main' && tree.total[i] > 0);
  flame.zoomTo(flame.layout.node.indexOf(node), false); return node; });
check(main > 0, 'main is there, by name', main);
const before = await zoomed(), had = await samples(page);
await more(page, had + 100);
await settledSoon(page);
const after = await zoomed();
check(after.name === 'main' && after.value > before.value && after.fills, 'the zoom stays on its frame, which grows', JSON.stringify([before, after]));
await page.locator('#search').fill('main');
const share = await text(page, '#matched');
await more(page, await samples(page) + 50);
check(/^\d+(\.\d+)? % matched$/.test(share) && /% matched$/.test(await text(page, '#matched')) && await page.locator('#search').inputValue() === 'main', 'the search stays', await text(page, '#matched'));
await page.screenshot({path: join(pictures, 'live-zoomed.png')});
await page.locator('#search').fill('');

// Every page has the same, whoever came when.
const late = await openPage();
await more(late, await samples(page));
const sums = one => one.evaluate(() => ({samples: cicada.profile.samples.time.length, sum: cicada.profile.wholeValue, names: cicada.profile.functions.length}));
for (let i = 0; i < 2; ++i) await page.keyboard.press('Escape');  // out of the field, then out of the zoom
await page.waitForFunction(() => !cicada.flame.zoomedNode);

// The view stands still, the recording does not.
await page.keyboard.press(' ');
const frozen = await samples(page);
await more(other, await samples(other) + 200);
check(await samples(page) === frozen && await text(page, '#live-state') === 'frozen', 'a frozen view stands still', `${frozen} ${await samples(page)}`);
await page.keyboard.press(' ');
await more(page, frozen + 100);
check(true, 'and goes on with all that came meanwhile');

// The last two seconds; the newer the more.
await page.locator('#mode').selectOption('window');
await page.locator('#seconds').selectOption('2');
await settledSoon(page);
const windowed = await page.evaluate(() => ({shown: cicada.flame.tree.total[0], all: cicada.profile.wholeValue, truth: cicada.profile.samples.value.reduce((sum, value, i) => sum + (cicada.profile.samples.time[i] >= cicada.profile.duration - 2e6 ? value : 0), 0)}));
check(windowed.shown === windowed.truth && windowed.shown < windowed.all && windowed.shown > 0, 'the last two seconds are shown', JSON.stringify(windowed));
await page.locator('#mode').selectOption('decay');
await settledSoon(page);
const decayed = await page.evaluate(() => ({shown: cicada.flame.tree.total[0], all: cicada.profile.wholeValue}));
check(decayed.shown > 0 && decayed.shown < decayed.all, 'what is older counts less', JSON.stringify(decayed));
check(page.url().includes('m=decay'), 'the mode is in the address', page.url());
await page.locator('#mode').selectOption('');
// A span that is selected stays where it is. What the page itself writes to its address before it has read the new one does not undo that.
await page.evaluate(() => new Promise(done => { addEventListener('hashchange', done, {once: true}); location.hash = 't=500000-1500000'; cicada.flame.zoomTo(0, false); }));
check(page.url().includes('t=500000-1500000'), 'a new fragment is taken', page.url());
const span = await page.evaluate(() => cicada.flame.tree.total[0]);
await more(page, await samples(page) + 100);
check(await page.evaluate(() => cicada.flame.tree.total[0]) === span && span > 0, 'a selected span stays', span);
await page.evaluate(() => { location.hash = ''; });
for (const [key, view] of [['2', 'table'], ['3', 'sandwich'], ['4', 'tracks']]) {
  await page.keyboard.press(key);
  await more(page, await samples(page) + 50);
  check(await page.locator('#' + view).isVisible(), `${view} goes on`);
}
await page.screenshot({path: join(pictures, 'live-tracks.png')});
await page.keyboard.press('1');

// Who may not look.
const url = new URL(address), wrong = new URL('/' + '0'.repeat(32) + '/', address).href;
check((await fetched(wrong)).status === 404, 'a wrong token finds nothing');
check((await fetched('events', {headers: {Origin: 'http://evil.example'}})).status === 403, 'a foreign origin is refused');
check([403, 421].includes((await fetched('', {headers: {Host: 'evil.example'}})).status), 'a foreign host name is refused');
check((await fetched('stop', {method: 'POST', headers: {Origin: 'http://evil.example'}})).status === 403, 'a foreign page controls nothing');
check((await fetched('format', {method: 'POST'})).status === 404, 'an unknown control is refused');
// The recording pauses for everybody, and goes on.
await page.locator('#pause').click();
for (const one of [page, other]) await one.waitForFunction(() => document.querySelector('#live-state').innerText === 'paused');
const paused = await samples(page);
await other.evaluate(() => new Promise(done => setTimeout(done, 3000)));
check(await samples(page) - paused < 100, 'while it is paused nothing is sampled', `${paused} ${await samples(page)}`);
await page.locator('#pause').click();
await more(page, paused + 200);
check(await text(page, '#live-state') === 'live', 'and it goes on', await text(page, '#live-state'));
// Another event, for everybody: the recording begins anew, and what cannot be recorded is said.
async function recordInstead(events) {
  await page.locator('#change').click();
  check(await page.locator('#of-processes').isHidden(), 'of one process nothing is to be chosen');
  await page.locator('#events').fill(events);
  await page.locator('#events').press('Enter');
}
const subtitle = text => one => one.waitForFunction(part => document.querySelector('#subtitle').innerText.includes(part) && cicada.profile.samples.time.length > 100, text);
await recordInstead('page-faults cpu-clock/freq=199/');
for (const one of [page, other]) await one.waitForFunction(() => [...document.querySelector('#event').options].map(one => one.text).join() === 'page-faults,cpu-clock');
await recordInstead('cpu-clock/freq=199/');
for (const one of [page, other]) await subtitle('199 Hz')(one);
await named(page);
check(true, 'names of the new recording');
await page.screenshot({path: join(pictures, 'live-changed.png')});
await recordInstead('no-such-event');
await page.waitForFunction(() => document.querySelector('#live-state').innerText.includes('no event "no-such-event"'));
await more(page, await samples(page) + 20);
check(true, 'and what is recorded goes on');
await recordInstead('');
for (const one of [page, other]) await subtitle('499 Hz')(one);
await page.waitForFunction(() => document.querySelector('#live-state').innerText === 'live');
// Everything can be saved.
await named(page);
for (const format of await page.locator('#download option').evaluateAll(all => all.map(one => one.value).filter(Boolean))) {
  const {status, headers, body} = await fetched('download?format=' + format);
  const whole = format === '.folded' ? body.includes(';main;') : body.length > 100;  // a stack is a short line
  check(status === 200 && whole && headers['content-disposition'].includes('cicada' + format), `saved as ${format}`, `${status} ${body.length}`);
}
check((await fetched('download?format=.exe')).status === 400, 'an unknown format is refused');
const [saved] = await Promise.all([page.waitForEvent('download'), page.locator('#download').selectOption('.svg')]);
check(saved.suggestedFilename() === 'cicada.svg', 'the page saves', saved.suggestedFilename());

// The server sleeps and wakes.
run(stop);
const slept = await samples(page);
run(go);
await more(page, slept + 100);
check(await text(page, '#live-state') === 'live', 'after a sleep it goes on', await text(page, '#live-state'));
const ticks = await page.evaluate(() => cicada.profile.samples.time.every((time, i, all) => !i || time >= all[i - 1]));
check(ticks, 'samples are in order');
// Another one at the same address: the page begins anew, by itself.
const troubles = page.troubles.length, from = await page.evaluate(() => cicada.profile.about.live.split('.')[0]);  // whose messages it shows
run(again);
await page.waitForFunction(before => cicada.profile.about.live.split('.')[0] !== before, from);
await more(page, 100);
check(await text(page, '#live-state') === 'live', 'it finds a server that was started again', await text(page, '#live-state'));
check(page.troubles.slice(troubles).every(trouble => /ERR_|Failed to load/.test(trouble)), 'and says no more than that it had no connection', page.troubles.slice(troubles).join('; '));
for (const one of [page, late]) one.troubles = one.troubles.filter(trouble => !/ERR_|Failed to load/.test(trouble));
// The end of what is recorded.
run(end);
await page.waitForFunction(() => document.querySelector('#live-state').innerText === 'the recording has ended');
check(await page.evaluate(() => cicada.flame.tree.total[0]) > 0, 'when it ends, the last picture stays');
await page.screenshot({path: join(pictures, 'live-ended.png')});
// What it shows is what is saved: the same samples at the same moments.
writeFileSync(join(pictures, 'saved.html'), (await fetched('download?format=.html')).body);
const report = await browser.newPage(), moments = one => one.evaluate(() => Array.from(cicada.profile.samples.time, (time, i) => `${time} ${cicada.profile.samples.cpu[i]}`).sort().join());
await report.goto('file://' + join(resolve(pictures), 'saved.html'));
await report.waitForSelector('html[data-ready=yes]');
check(await moments(report) === await moments(page), 'samples are at their times');
const final = await openPage();
check((await sums(final)).samples === (await sums(page)).samples && (await sums(final)).sum === (await sums(page)).sum, 'who comes later has the same', JSON.stringify([await sums(final), await sums(page)]));
for (const one of [page, late, final]) check(one.troubles.length === 0, 'nothing on the console', one.troubles.join('; '));
await browser.close();
finish();

// Until the page has drawn what came.
async function settledSoon(one) { await one.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))); }
