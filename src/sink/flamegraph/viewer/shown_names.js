// SPDX-License-Identifier: Apache-2.0
// Names where the width is limited: without parameters, template arguments and return types, as `--demangle short`; with what tells them
// apart where two functions have the same short name. The whole name is what one sees on hover.

// "std::map<int, A<B> >::find(int const&) const" -> "std::map::find". "operator<", "operator->" and Rust's "<T as Trait>" are names.
export function shortName(name) {
  const end = name.includes('(') && /\)(?: const| volatile| noexcept| ?&&?| \[[^\]]*\])*$/.exec(name);
  let text = name, returns = false;
  if (end) {
    let open = end.index;
    for (let depth = 0; open >= 0; --open) {
      if (name[open] === ')') ++depth;
      if (name[open] === '(' && !--depth) break;
    }
    if (open > 0 && name[open - 1] !== ' ' && !/\boperator$/.test(name.slice(0, open))) {
      text = name.slice(0, open);
      returns = text.endsWith('>') && !/\boperator\W*>$/.test(text) && !/ thunk to /.test(text);
    }
  }
  if (text.includes('<')) text = withoutTemplateArguments(text).trimEnd();  // letter by letter: most have none
  if (!returns) return text;
  const operator = text.search(/\boperator\b/), limit = operator < 0 ? text.length : operator;
  for (let i = 0, depth = 0, begin = 0; ; ++i) {  // what a template function returns stands before its name
    if (i >= limit) return text.slice(begin);
    if ('([{'.includes(text[i])) ++depth; else if (')]}'.includes(text[i])) --depth;
    if (text[i] === ' ' && !depth) begin = i + 1;
  }
}
function withoutTemplateArguments(name) {
  let out = '';
  for (let i = 0; i < name.length;) {
    if (out.endsWith('operator') && '<>-'.includes(name[i])) {
      while ('<>-='.includes(name[i] || '.') && !(name[i] === '<' && out.endsWith('->'))) out += name[i++];
      continue;
    }
    if (name[i] === '<' && i > 0 && (out.endsWith(' ') ? /\boperator\W* $/.test(out) || out.length < 2 : !out.endsWith(':'))) {
      let end = i;
      for (let depth = 0; end < name.length; ++end) {
        if (name[end] === '<') ++depth;
        if (name[end] === '>' && name[end - 1] !== '-' && !--depth) break;
      }
      if (end === name.length) break;  // unbalanced: the rest is left out
      i = end + 1;
      continue;
    }
    out += name[i++];
  }
  return out || name;
}

function commonPrefix(a, b) {
  let i = 0;
  while (i < a.length && a[i] === b[i]) ++i;
  return i;
}

export class ShownNames {
  constructor() { Object.assign(this, {functions: [], full: false, texts: [], sorted: new Map()}); }
  // Those of before, and more of them, or others of the same names.
  show(functions, hasParameters) { Object.assign(this, {functions, hasParameters, texts: [], sorted: new Map()}); }
  // By function; '' has a text, too.
  of(f) { return (this.full ? this.functions[f].name : this.texts[f] ??= this.short(f)) || '[unnamed]'; }
  short(f) {
    const text = this.plain(f), {name} = this.functions[f], names = this.alike().get(text);
    if (!names || names.size < 2) return text;
    let others = this.sorted.get(text);
    if (!others) this.sorted.set(text, others = [...names].sort());
    const at = others.indexOf(name);  // its neighbours have the most in common with it
    if (at < 0) return text;
    const differs = Math.max(at ? commonPrefix(name, others[at - 1]) : 0, at + 1 < others.length ? commonPrefix(name, others[at + 1]) : 0);
    const word = Math.max(...[...'<,(: '].map(letter => name.lastIndexOf(letter, differs - 1))) + 1 || differs;
    return name.startsWith(text) && word <= text.length + 1 ? name : `${text}…${name.slice(word)}`;
  }
  plain(i) { return this.hasParameters(i) ? shortName(this.functions[i].name) : this.functions[i].name; }
  // Names by short name.
  alike() {
    this.byShort ||= new Map();
    for (this.counted ||= 0; this.counted < this.functions.length; ++this.counted) {
      const text = this.plain(this.counted), {name} = this.functions[this.counted];
      if (this.byShort.has(text)) this.byShort.get(text).add(name); else this.byShort.set(text, new Set([name]));
    }
    return this.byShort;
  }
  // For rows of a table, no longer than `letters`: two are the same only if their names are.
  fit(rows, letters) {
    const taken = new Map(), texts = [];
    for (const f of rows) {
      const whole = this.of(f), {name, image} = this.functions[f], key = name + '\n' + image, half = Math.max(1, Math.ceil(letters / 2) - 1);
      const cuts = [whole.length <= letters ? whole : whole.slice(0, letters - 1) + '…', whole.slice(0, half) + '…' + whole.slice(half + 1 - letters)];
      let text = cuts.find(each => (taken.get(each) ?? key) === key);
      for (let i = 2; !text; ++i) { const marked = `${cuts[0].slice(0, letters - 4)} #${i}`; if ((taken.get(marked) ?? key) === key) text = marked; }
      taken.set(text, key);
      texts.push(text);
    }
    return texts;
  }
}
