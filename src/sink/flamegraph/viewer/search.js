// SPDX-License-Identifier: Apache-2.0
// The search field: which functions match a regular expression (case matters once it has a capital), and how much is under them.
import { share } from './format.js';
import { matchedTotal } from './call_tree.js';

export class Search {
  // changed(): other functions match now. `matches`: by function, or null.
  constructor(field, matched, profile, changed) {
    Object.assign(this, {field, matched, profile, changed, text: '', regex: null, matches: null});
    field.addEventListener('input', () => this.set(field.value));
  }
  set(text) {
    if (this.field.value !== text) this.field.value = text;
    this.field.classList.remove('bad');
    try { this.regex = text ? new RegExp(text, text === text.toLowerCase() ? 'iu' : 'u') : null; } catch { this.field.classList.add('bad'); return; }
    this.text = text;
    this.find();
    this.changed();
  }
  find() {
    const {regex} = this;
    this.matches = regex && Uint8Array.from(this.profile.functions, f => regex.test(f.name) || regex.test(f.image) ? 1 : 0);
  }
  showShare(tree) {
    this.matched.textContent = this.matches ? share(matchedTotal(this.profile, tree, this.matches), tree.total[0]) + ' matched' : '';
  }
  // True: it was a key of the field.
  key(event, next) {
    if (event.target !== this.field) return false;
    if (event.key === 'Escape') this.set('');
    if (event.key === 'Enter') next();
    if (event.key === 'Escape' || event.key === 'Enter') this.field.blur();
    return true;
  }
}
