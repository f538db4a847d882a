#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// page_memory.mjs ADDRESS FOLDER NPM MINUTES: follows in a real browser; each minute what the page's JavaScript holds after a collection (MB), and how many samples and nodes it has.
import { check, launch, hangs } from '../../tests/browser/browser.mjs';

const [address, , , minutes] = process.argv.slice(2), browser = await launch(), page = await browser.newPage({viewport: {width: 1360, height: 820}});
page.setDefaultTimeout(hangs);
page.on('pageerror', error => check(false, 'no error', String(error)));
await page.goto(address);
await page.waitForSelector('html[data-ready=yes]');
const devtools = await page.context().newCDPSession(page);
for (let i = 0; i < Number(minutes); ++i) {
  await new Promise(done => setTimeout(done, 59_000));
  await devtools.send('HeapProfiler.collectGarbage');
  const {usedSize} = await devtools.send('Runtime.getHeapUsage'), [samples, nodes] = await page.evaluate(() => [cicada.profile.samples.time.length, cicada.profile.nodes.parent.length]);
  console.log(`${(usedSize / 1e6).toFixed(1)} ${samples} ${nodes}`);
}
await browser.close();
