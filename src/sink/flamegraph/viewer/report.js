// SPDX-License-Identifier: Apache-2.0
// The report: its profile is in the page.
import { element } from './format.js';
import { embeddedEvents, unpackProfile } from './profile_data.js';
import { readState } from './url_state.js';
import { start } from './main.js';

async function open() {
  const events = embeddedEvents(), wanted = events[Number(readState().e)] || events[0];
  globalThis.cicada = start(await unpackProfile(wanted), events.map(one => one.event));
}
open().catch(error => {
  document.body.replaceChildren(element('p', {}, `This report cannot be shown: ${error.message}`));
});
