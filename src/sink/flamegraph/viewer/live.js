// SPDX-License-Identifier: Apache-2.0
// The live page: follows a recording by server-sent events, and shows it again after each unless the reader has frozen the view.
import { byId, element } from './format.js';
import { LiveSource } from './live_source.js';
import { readState } from './url_state.js';
import { start } from './main.js';

const again = 2000;  // ms until the next try where the server says no; the browser itself tries again where there is none

function follow() {
  const source = new LiveSource(), wanted = Number(readState().e) || 0;
  let page = null, stream = null, frozen = false, pressed = false, stale = false, asked = false, taken = Promise.resolve(), lost = '';
  byId('live').hidden = false;
  function showState() {
    const {paused, controls, changes, answer} = source.recorder, {ended} = source, text = lost || ended || answer || [paused && 'paused', frozen && 'frozen'].filter(Boolean).join(', ') || 'live';
    byId('live-state').textContent = byId('live-state').title = text;
    byId('live').className = lost || answer ? 'lost' : ended ? 'ended' : paused ? 'paused' : frozen ? 'frozen' : '';
    byId('pause').hidden = byId('stop').hidden = !controls || !!ended;
    byId('change').hidden = !controls || !changes || !!ended;
    byId('pause').textContent = paused ? 'Resume' : 'Pause';
    byId('freeze').textContent = frozen ? 'Go on' : 'Freeze';
  }
  // While a button is held nothing moves under it. A page that nobody sees is drawn when it is seen.
  function show() {
    asked = false;
    if (!stale || pressed || (frozen && page)) return;
    stale = false;
    if (page) page.update(source.profile(), source.events);
    else begin();
  }
  function showSoon() {
    if (!asked) requestAnimationFrame(show);
    asked = true;
  }
  function begin() {
    page = globalThis.cicada = start(source.profile(), source.events);
    const mode = byId('mode'), seconds = byId('seconds'), {state} = page;
    mode.value = state.m;
    seconds.value = state.s || '10';
    const set = () => { seconds.hidden = !mode.value; page.setMode(mode.value, seconds.value); };
    seconds.hidden = !mode.value;
    mode.onchange = seconds.onchange = set;
  }
  function freeze() {
    frozen = !frozen;
    showState();
    showSoon();
  }
  byId('freeze').onclick = freeze;
  async function ask(what) {
    const answer = await fetch(what, {method: 'POST'}).catch(error => ({ok: false, text: () => error.message}));
    lost = answer.ok ? '' : await answer.text();
    showState();
  }
  byId('pause').onclick = () => ask(source.recorder.paused ? 'resume' : 'pause');
  byId('stop').onclick = () => ask('stop');
  const dialog = byId('recorder'), fields = [byId('events'), byId('of-processes')];
  byId('change').onclick = () => {
    [fields[0].value, fields[1].value] = [source.recorder.events, source.recorder.processes];
    byId('only').hidden = !source.recorder.chooses;
    dialog.returnValue = '';
    dialog.showModal();
  };
  dialog.onclose = () => { if (dialog.returnValue) ask('record?' + new URLSearchParams({events: fields[0].value.trim(), processes: fields[1].value.trim()})); };
  addEventListener('keydown', event => {
    if (event.key !== ' ' || event.ctrlKey || event.metaKey || event.altKey || ['INPUT', 'SELECT', 'BUTTON'].includes(event.target.tagName)) return;
    event.preventDefault();
    freeze();
  });
  byId('key-list').append(element('dt', {}, 'space'), element('dd', {}, 'freeze the view; the recording goes on'));
  addEventListener('pointerdown', event => { pressed = event.button === 0 && event.target.tagName !== 'SELECT'; }, true);
  const release = () => { if (pressed) { pressed = false; showSoon(); } };
  for (const end of ['pointerup', 'pointercancel', 'blur']) addEventListener(end, release, true);
  addEventListener('pointermove', event => { if (!event.buttons) release(); }, true);
  byId('download').onchange = event => {
    element('a', {href: `download?e=${wanted}&format=${event.target.value}`}).click();
    event.target.value = '';
  };

  function connect() {
    stream?.close();
    stream = new EventSource(`events?e=${wanted}&last=${encodeURIComponent(source.id)}`);
    stream.onopen = () => { lost = ''; showState(); };
    stream.onmessage = ({data}) => {
      taken = taken.then(async () => {
        if (!await source.take(JSON.parse(data))) { source.id = ''; return connect(); }
        stale = true;
        showState();
        showSoon();
      }).catch(error => { lost = `cannot be shown: ${error.message}`; showState(); throw error; });
    };
    stream.onerror = () => {
      lost = 'no connection, trying again';
      showState();
      if (stream.readyState === EventSource.CLOSED) setTimeout(connect, again);
    };
  }
  showState();
  connect();
}
follow();
