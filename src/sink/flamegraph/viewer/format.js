// SPDX-License-Identifier: Apache-2.0
// Numbers for people, and elements from text (never from markup: every name in a profile is a stranger's).
const grouped = new Intl.NumberFormat('en-US');

export function share(part, whole) {
  if (!whole) return '–';
  if (!part) return '0 %';
  const percent = 100 * part / whole;
  return percent.toFixed(percent >= 10 ? 1 : 2) + ' %';
}
export function duration(microseconds) {  // three digits, as elsewhere
  const [value, unit] = microseconds >= 999500 ? [microseconds / 1e6, 's'] : microseconds >= 999.5 ? [microseconds / 1e3, 'ms'] : [microseconds, 'µs'];
  return `${value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)} ${unit}`;
}
// CPU time in a stretch of time, in percent of one CPU.
export function utilisation(seconds, stretch) {
  const percent = 100 * seconds / stretch;
  return percent.toFixed(percent < 9.95 ? 1 : 0) + ' %';
}
// Units as the recording has them: samples, ns, bytes, calls.
export function amount(value, unit) {
  return unit === 'ns' ? duration(value / 1000) : grouped.format(Math.round(value));
}
export function amountWithUnit(value, unit) {
  if (unit === 'ns') return duration(value / 1000);
  return `${grouped.format(value)} ${value === 1 ? unit.replace(/s$/, '') : unit}`;
}
export function element(tag, properties = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/1999/xhtml', tag);  // also inside an SVG
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value; else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}
export const byId = id => document.getElementById(id);
export function shorten(text, letters) {
  return text.length <= letters ? text : text.slice(0, letters - 1) + '…';
}
// "name (id)" with an id that stays in sight when the name has no room.
export function withId(text) {
  const cut = text.lastIndexOf(' (');
  return cut < 0 ? [element('span', {}, text)] : [element('span', {}, text.slice(0, cut)), element('em', {}, text.slice(cut + 2, -1).replace(', main', ''))];
}
