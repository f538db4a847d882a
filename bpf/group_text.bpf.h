// SPDX-License-Identifier: GPL-2.0-only
// Texts by which hits are grouped. A sample has the hash of its text; the text itself goes through the ring once, before the first sample that has it.
//
// The hash is SipHash-1-3 with the recording's seed: programs choose these texts, and a text of one must not be shown for that of another. (mix_hash() can be made to
// collide without its seed, by words that differ in their highest bits.)
#pragma once
#include "fields.bpf.h"
#include "output.bpf.h"
#include "walk.bpf.h"

#include <bpf/bpf_helpers.h>

#define ERROR_TOO_MANY (-7)  // E2BIG

// Hash of a text -> whether user space has it, or will before whatever comes next. Programs write and read. With memory of its own: programs that may be anywhere must not
// allocate. Full: user space never learns the text, and shows it as one of others. More than the groups that user space tells apart. The loader makes it small where no event asks for a text.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, MAX_TEXTS);
  __type(key, __u64);
  __type(value, __u32);
} group_texts SEC(".maps") __weak;

struct sip_state {
  __u64 v0, v1, v2, v3;
};
static __always_inline __u64 rotate(__u64 word, __u32 bits) { return word << bits | word >> (64 - bits); }
static __always_inline void sip_round(struct sip_state *v) {
  v->v0 += v->v1, v->v1 = rotate(v->v1, 13) ^ v->v0, v->v0 = rotate(v->v0, 32);
  v->v2 += v->v3, v->v3 = rotate(v->v3, 16) ^ v->v2;
  v->v0 += v->v3, v->v3 = rotate(v->v3, 21) ^ v->v0;
  v->v2 += v->v1, v->v1 = rotate(v->v1, 17) ^ v->v2, v->v2 = rotate(v->v2, 32);
}
static __always_inline void sip_add(struct sip_state *v, __u64 word) {
  v->v3 ^= word;
  sip_round(v);
  v->v0 ^= word;
}

// `length`: more than the text's bytes where it is cut. Source: Aumasson and Bernstein 2012; the length has a word of its own.
static __always_inline __u64 hash_text(const struct group_text *text, __u32 length) {
  __u64 key0 = hash_seed, key1 = mix_hash(~hash_seed, hash_seed >> 7);
  struct sip_state v = {key0 ^ 0x736f6d6570736575ull, key1 ^ 0x646f72616e646f6dull, key0 ^ 0x6c7967656e657261ull, key1 ^ 0x7465646279746573ull};
  sip_add(&v, length);
  for (__u32 i = 0; i < LONGEST_TEXT / 8; i++) {
    if (8 * i >= length) break;
    sip_add(&v, text->words[i]);
  }
  v.v2 ^= 0xff;
  for (__u32 i = 0; i < 3; i++) sip_round(&v);
  __u64 hash = v.v0 ^ v.v1 ^ v.v2 ^ v.v3;
  return hash < FIRST_TEXT_HASH ? hash + FIRST_TEXT_HASH : hash;
}

// The outcome. Its place in the map comes first, so that one without sends nothing; whoever finds it untold tells it, too.
static __always_inline int tell_text(struct group_text *text) {
  __u64 hash = text->record.hash;
  __u32 untold = 0;
  __u32 *told = bpf_map_lookup_elem(&group_texts, &hash);
  if (told && *(volatile __u32 *)told) return COUNTER_STORED;
  if (!told && bpf_map_update_elem(&group_texts, &hash, &untold, BPF_NOEXIST) == ERROR_TOO_MANY) return COUNTER_STORED;
  __u64 bytes = text->record.bytes;
  if (bytes > LONGEST_TEXT) bytes = LONGEST_TEXT;
  if (bpf_ringbuf_output(&events, text, sizeof(text->record) + ((bytes + 7) & ~7ull), BPF_RB_NO_WAKEUP)) return COUNTER_LOST_SAMPLE_RING_FULL;
  told = bpf_map_lookup_elem(&group_texts, &hash);
  if (told) *(volatile __u32 *)told = 1;
  return COUNTER_STORED;
}

// Reads the text at an address, `bytes` at most, tells user space, and leaves its hash in memory->text.record.hash. The outcome; COUNTER_STORED also if it cannot be read:
// then the hash says so. Verified once for all programs.
__weak __noinline int take_text(struct scratch *memory, __u64 address, __u32 bytes, __u32 is_of_kernel) {
  if (!memory) return COUNTER_LOST_NO_SCRATCH;
  struct group_text *text = &memory->text;
  text->record.hash = TEXT_NULL;
  if (!address) return COUNTER_STORED;
  __builtin_memset(text->words, 0, sizeof(text->words));
  if (bytes > LONGEST_TEXT + 1) bytes = LONGEST_TEXT + 1;
  // With a 0 at its end, which takes the place of the last byte if there is none before.
  long got = is_of_kernel ? bpf_probe_read_kernel_str(text->words, bytes + 1, (const void *)address) : bpf_probe_read_user_str(text->words, bytes + 1, (const void *)address);
  text->record.hash = got < 0 ? TEXT_UNREADABLE : TEXT_EMPTY;
  if (got <= 1) return COUNTER_STORED;  // older kernels (6.1) say 0 for user space's empty ones
  __u32 length = (__u32)got - 1;
  text->record.kind = RECORD_TEXT;
  text->record.is_cut = length > LONGEST_TEXT;
  text->record.bytes = length > LONGEST_TEXT ? LONGEST_TEXT : (__u16)length;
  text->record.padding = 0;
  text->record.hash = hash_text(text, length);
  return tell_text(text);
}

// Of a hit that is grouped by a text, from its address to its hash. The outcome.
static __always_inline int hash_group(struct scratch *memory, struct hit *hit) {
  int outcome = take_text(memory, hit->group, hit->text_bytes, hit->is_of_kernel);
  hit->group = memory->text.record.hash;
  return outcome;
}
