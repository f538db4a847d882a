// SPDX-License-Identifier: Apache-2.0
// A headless Chromium that may not talk to anyone, and the few checks all browser tests share.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export const [maker, pages, npm] = process.argv.slice(2);
export function skip(reason) { console.log('SKIP: ' + reason); process.exit(77); }

export function makePages(...extra) {
  mkdirSync(pages, {recursive: true});
  execFileSync(maker, [pages, ...extra], {stdio: 'inherit'});
}
export async function launch() {
  const executablePath = process.env.CICADA_CHROMIUM || '/usr/bin/chromium';
  if (!existsSync(executablePath)) skip(`no ${executablePath}: apt-get install chromium`);
  const module = join(npm, 'node_modules/playwright-core');
  if (!existsSync(module)) skip(`no playwright-core in ${npm}: ./dev setup installs it`);
  const { chromium } = createRequire(import.meta.url)(module);
  return chromium.launch({executablePath, headless: true, timeout: hangs, args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--no-first-run']});
}

let failures = 0;
export function check(condition, promise, seen = '') {
  console.log(`${condition ? 'ok' : 'FAILED'}: ${promise}${condition || seen === '' ? '' : ` (seen: ${seen})`}`);
  if (!condition) ++failures;
}
export function finish() { console.log(failures ? `${failures} failed` : 'all passed'); process.exitCode = failures ? 1 : 0; }

export const hangs = 300_000;  // ms; no test judges time
// Counts the frames that the page has asked for. What it draws, selects and animates happens in such frames.
function countFrames() {
  const wanted = new Set(), request = requestAnimationFrame.bind(globalThis), cancel = cancelAnimationFrame.bind(globalThis);
  globalThis.requestAnimationFrame = f => { const id = request(time => { wanted.delete(id); f(time); }); wanted.add(id); return id; };
  globalThis.cancelAnimationFrame = id => { wanted.delete(id); cancel(id); };
  globalThis.stillness = async () => { do for (let i = 0; i < 2; ++i) await new Promise(done => request(done)); while (wanted.size); };
}
// Until the page has done what the last key, click or size asks for.
export const settled = page => page.evaluate(() => stillness());

// Opens a page of `pages`; errors on the console and requests to anywhere are kept in page.troubles.
export async function open(browser, file, {width = 1360, height = 820, hash = '', dark = false, scripts = true} = {}) {
  const page = await browser.newPage({viewport: {width, height}, colorScheme: dark ? 'dark' : 'light', javaScriptEnabled: scripts});
  page.setDefaultTimeout(hangs);
  await page.addInitScript(countFrames);
  page.troubles = [];
  page.on('console', message => { if (['error', 'warning'].includes(message.type())) page.troubles.push(message.text()); });
  page.on('pageerror', error => page.troubles.push(String(error)));
  const url = pathToFileURL(join(pages, file)).href;
  page.on('request', request => { if (!request.url().startsWith(url) && !request.url().startsWith('data:')) page.troubles.push('request ' + request.url()); });
  await page.goto(url + hash);
  return page;
}
