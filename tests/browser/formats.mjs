#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Our .speedscope.json opened by speedscope itself, in a browser.
import { createServer } from 'node:http';
import { existsSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { check, finish, hangs, launch, makePages, npm, pages, skip } from './browser.mjs';

const release = join(npm, 'node_modules/speedscope/dist/release');
if (!existsSync(release)) skip(`no speedscope in ${npm}: ./dev setup installs it`);
const browser = await launch();
makePages();
const types = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json'};
const server = createServer((request, response) => {
  const path = new URL(request.url, 'http://localhost').pathname, file = join(path.startsWith('/pages/') ? pages : release, path.replace(/^\/pages/, ''));
  if (!existsSync(file)) { response.writeHead(404); return response.end(); }
  response.writeHead(200, {'content-type': types[extname(file)] || 'application/octet-stream'});
  response.end(readFileSync(file));
}).listen(0, '127.0.0.1');
await new Promise(done => server.once('listening', done));
const origin = `http://127.0.0.1:${server.address().port}`;
for (const name of ['demo', 'hostile']) {
  const page = await browser.newPage({viewport: {width: 1200, height: 700}}), errors = [];
  page.on('pageerror', error => errors.push(String(error)));
  page.on('console', message => { if (message.type() === 'error' && !message.text().includes('404')) errors.push(message.text()); });
  await page.goto(`${origin}/index.html#profileURL=${encodeURIComponent(`/pages/${name}.speedscope.json`)}`);
  await page.locator('text=Sandwich').first().waitFor({timeout: hangs}).catch(() => {});
  await page.screenshot({path: join(pages, `speedscope-${name}.png`)});
  check(await page.locator('text=Sandwich').count() > 0, `speedscope opens ${name}.speedscope.json`);
  check(errors.length === 0, `speedscope reports no error for ${name}`, errors.join(' | '));
  await page.close();
}
await browser.close();
server.close();
finish();
