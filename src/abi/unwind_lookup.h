// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Link address -> rule, in the tables of abi/unwind_table.h: page index -> block -> row -> dictionary -> rule. One implementation for
// BPF and for the host.
//
// Every byte of a table is foreign (another process may be rewriting its place this instant): each offset is masked or checked
// against the chunk, so that a torn table gives a wrong rule at worst, never an access outside. In BPF these masks are also
// what the verifier wants to see.
#pragma once
#include "abi/base_types.h"
#include "abi/end_reason.h"
#include "abi/unwind_table.h"

// Who includes this file defines this function: UNWIND_CHUNK_BYTES bytes, or null.
ABI_INLINE const __u8 *unwind_chunk(void *tables, __u32 slab, __u32 chunk);

// *rule gets a pointer into a chunk, valid as long as the chunk is (in BPF: this program run).
// END_NONE, END_NO_TABLE (not loaded, or its place has a new owner), or END_NO_RULE.
ABI_INLINE int unwind_lookup(void *tables, const struct unwind_place *place, __u32 image, __u64 link_address,
                             const struct unwind_rule **rule) {
  if (place->image != image || !(place->flags & UNWIND_PLACE_LOADED)) return END_NO_TABLE;
  __u32 page_shift = place->page_shift & 31;
  __u32 slab = place->slab;
  __u64 page = (link_address >> page_shift) - place->first_page;
  if (page >= place->page_count) return END_NO_RULE;

  // Page index.
  __u32 position = place->index + (__u32)page;
  __u32 chunk_number = position >> (UNWIND_CHUNK_SHIFT - 2);
  const __u8 *chunk = unwind_chunk(tables, slab, chunk_number);
  if (!chunk) return END_NO_TABLE;
  position = *(const __u32 *)(chunk + ((position << 2) & (UNWIND_CHUNK_BYTES - 4)));
  if (position == 0) return END_NO_RULE;

  // Block.
  if (position >> (UNWIND_CHUNK_SHIFT - 2) != chunk_number) {
    chunk_number = position >> (UNWIND_CHUNK_SHIFT - 2);
    chunk = unwind_chunk(tables, slab, chunk_number);
    if (!chunk) return END_NO_TABLE;
  }
  __u32 begin = (position << 2) & (UNWIND_CHUNK_BYTES - 4);
  if (begin > UNWIND_CHUNK_BYTES - sizeof(struct unwind_block)) return END_NO_TABLE;
  const struct unwind_block *block = (const struct unwind_block *)(chunk + begin);
  if (block->image != image) return END_NO_TABLE;
  __u32 row_count = block->row_count;
  __u32 dictionary_count = block->dictionary_count;

  // Last row whose offset is not above ours; sub[] leaves a sixteenth of the page to search.
  __u32 offset = (__u32)(link_address & ((1u << page_shift) - 1));
  __u32 part = (offset << 4 >> page_shift) & (UNWIND_SUB_COUNT - 1);
  __u32 low = block->sub[part];
  __u32 high = part == UNWIND_SUB_COUNT - 1 ? row_count : block->sub[(part + 1) & (UNWIND_SUB_COUNT - 1)];
  __u32 rows = begin + (__u32)sizeof(struct unwind_block);
  // Without a branch in the comparison: at run time it is not predictable, and the verifier would learn a bound from each
  // outcome and follow 2^16 of them (a million instructions). The masks keep every iteration's state equal to the first's.
  __u32 remaining = (high - low) & 0xffff;
  for (__u32 i = 0; i < 16; i++) {
    if (remaining == 0) break;
    __u32 half = remaining >> 1;
    __u32 at = *(const __u16 *)(chunk + ((rows + 2 * (low + half)) & (UNWIND_CHUNK_BYTES - 2)));
    __u32 not_above = 0u - ((at - offset - 1) >> 31);  // all ones if at <= offset
    low = (low + ((half + 1) & not_above)) & 0xffff;
    remaining = (half + ((remaining - half - 1 - half) & not_above)) & 0xffff;
  }
  if (low == 0 || low > row_count) return END_NO_RULE;
  __u32 row = low - 1;

  // Rule.
  __u32 dictionary = rows + 2 * row_count;
  __u32 id = chunk[(dictionary + 2 * dictionary_count + row) & (UNWIND_CHUNK_BYTES - 1)];
  __u32 index = *(const __u16 *)(chunk + ((dictionary + 2 * id) & (UNWIND_CHUNK_BYTES - 2)));
  if (index >= place->rule_count) return END_NO_RULE;
  position = place->rules + index;
  if (position >> (UNWIND_CHUNK_SHIFT - 4) != chunk_number) {
    chunk = unwind_chunk(tables, slab, position >> (UNWIND_CHUNK_SHIFT - 4));
    if (!chunk) return END_NO_TABLE;
  }
  *rule = (const struct unwind_rule *)(chunk + ((position << 4) & (UNWIND_CHUNK_BYTES - 16)));
  return END_NONE;
}
