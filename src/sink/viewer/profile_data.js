// SPDX-License-Identifier: Apache-2.0
// The data source of the report: unpacks what html.cc wrote (docs/viewer.md has the layout). Views see only the Profile it
// returns, so that the live view can put another source in its place.
//
// Profile: names[], functions {name, image}, frames {functionOf, kind, where}, nodes {parent, frame}, samples {time, thread,
// node, value, cpu} sorted by time in µs from the start, threads, processes; a comparison has self and before instead of samples.
export async function unpackProfile(packed) {
  const compressed = Uint8Array.from(atob(packed.payload), letter => letter.charCodeAt(0));
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream('gzip'));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const tableBytes = new DataView(bytes.buffer).getUint32(0, true);
  const tables = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + tableBytes)));
  let at = 4 + tableBytes;
  const number = () => {  // LEB128; arithmetic beyond 2^31 needs multiplication
    let value = 0, scale = 1, byte;
    do { byte = bytes[at++]; value += (byte & 127) * scale; scale *= 128; } while (byte & 128);
    return value;
  };
  const nodes = number(), parent = new Uint32Array(nodes), frame = new Uint32Array(nodes);
  for (let i = 0; i < nodes; ++i) { parent[i] = i - number(); frame[i] = number(); }
  const count = number(), time = new Float64Array(count), thread = new Uint32Array(count), node = new Uint32Array(count),
        value = new Float64Array(count), cpu = new Uint16Array(count);
  for (let i = 0; i < count; ++i) {
    time[i] = (i ? time[i - 1] : 0) + number();
    thread[i] = number(); node[i] = number(); value[i] = number(); cpu[i] = number();
  }
  const self = new Float64Array(nodes), before = packed.comparison ? new Float64Array(nodes) : null;
  if (before) for (let i = 0; i < nodes; ++i) { self[i] = number(); before[i] = number(); }
  return makeProfile(packed, tables, {parent, frame}, {time, thread, node, value, cpu}, self, before);
}

export function makeProfile(about, tables, nodes, samples, self, before) {
  const {names, frames, threads, processes} = tables;
  const frameCount = frames.length / 4, functionOf = new Uint32Array(frameCount), kind = new Uint8Array(frameCount),
        shade = new Uint8Array(frameCount), where = new Int32Array(frameCount), functions = [], known = new Map();
  for (let i = 0; i < frameCount; ++i) {
    const [name, image, style, place] = frames.slice(4 * i, 4 * i + 4), key = name * 4294967296 + image;
    if (!known.has(key)) { known.set(key, functions.length); functions.push({name: names[name], image: names[image], frame: i}); }
    functionOf[i] = known.get(key);
    kind[i] = style >> 2; shade[i] = style & 3; where[i] = place;
  }
  const rank = new Uint32Array(functions.length);
  functions.map((f, i) => [f.name, i]).sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1]).forEach(([, i], order) => { rank[i] = order; });
  const last = samples.time.length ? samples.time[samples.time.length - 1] : 0;
  return {about, names, functions, rank, frames: {functionOf, kind, shade, where}, nodes, samples, self, before, threads, processes,
          duration: Math.max(about.duration_us || 0, last, 1)};
}

export async function embeddedProfile() {
  return unpackProfile(JSON.parse(document.getElementById('profile').textContent));
}
