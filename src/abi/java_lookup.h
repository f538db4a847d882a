// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Address -> rule in code that a Java virtual machine has made (abi/java_code.h). One implementation for BPF and for the host.
//
// Every word is what another process has in its memory: at worst a rule is wrong.
#pragma once
#include "abi/arch.h"
#include "abi/end_reason.h"
#include "abi/java_code.h"
#include "abi/unwind_table.h"

#if defined(__bpf__)
#define JAVA_SEGMENT_HOPS 16  // of up to 254 segments of 128 bytes each, but joined blocks have a hop of their own
#else
#define JAVA_SEGMENT_HOPS 64
#endif
#define JAVA_FRAME_WORDS (1 << 17)

// How the names of CodeBlobs begin whose frames are not all of one size.
#define JAVA_INTERPRETER 0x6572707265746e49ull       // "Interpre"ter
#define JAVA_ADAPTERS 0x204932432f433249ull          // "I2C/C2I "adapters
#define JAVA_VIRTUAL_CALLS 0x6320656c62617476ull     // "vtable c"hunks
#define JAVA_METHOD_HANDLES 0x6148646f6874654dull    // "MethodHa"ndles adapters
#define JAVA_NATIVE_METHOD 0x6e2065766974616eull     // "native n"method; of these those that only jump
#define JAVA_METHOD 0x00646f6874656d6eull

// Who includes this file defines this function: 0, or nonzero when unreadable.
ABI_INLINE int java_code_read(void *reader, __u64 address, void *to, __u32 bytes);

// What is read on the way. Of the caller, because BPF's stack is small.
struct java_reading {
  __u64 word;
  __u8 code[ARCH_JAVA_CODE_BEFORE + ARCH_JAVA_CODE_BYTES];
};

ABI_INLINE int java_read_field(void *reader, struct java_reading *reading, __u64 object, struct java_field field, __s64 *value) {
  if (java_code_read(reader, object + field.offset, &reading->word, sizeof(reading->word))) return END_UNREADABLE;
  __u32 unused_bits = (64 - 8 * (__u32)field.bytes) & 63;
  __u64 word = reading->word << unused_bits;
  *value = field.is_signed ? (__s64)word >> unused_bits : (__s64)(word >> unused_bits);
  return END_NONE;
}

// The CodeBlob around an address of the heap. END_NO_RULE: there is none.
ABI_INLINE int java_find_blob(void *reader, struct java_reading *reading, const struct java_code *code, __u64 low, __u64 segments, __u64 address, __u64 *blob) {
  __u32 shift = code->segment_shift & 31;
  __u64 segment = (address - low) >> shift;
  for (__u32 i = 0; i < JAVA_SEGMENT_HOPS; i++) {
    if (java_code_read(reader, segments + segment, reading->code, 1)) return END_UNREADABLE;
    __u8 back = reading->code[0];
    if (back == 0xff || back > segment) return END_NO_RULE;
    if (back == 0) {
      *blob = low + (segment << shift) + code->block_header_bytes;
      return END_NONE;
    }
    segment -= back;
  }
  return END_UNREADABLE;
}

// Where the frame has no size: by what the blob is called. 0: by frame pointer.
ABI_INLINE __u32 java_pushed_by_name(__u64 name, const __u8 *code) {
  if (name == JAVA_ADAPTERS || name == JAVA_VIRTUAL_CALLS || name == JAVA_METHOD_HANDLES || name == JAVA_NATIVE_METHOD || name == JAVA_METHOD) return 8;
  return arch_java_pushed_by_stub(code);
}

// `address` as the walk looks it up. END_NONE: *rule says how to go on. END_NO_RULE: nobody but perhaps the frame pointer says where the frame ends.
// END_UNREADABLE: what says so cannot be read, or not yet.
ABI_INLINE int java_code_rule(void *reader, const struct java_code *java, __u64 address, struct java_reading *reading, struct unwind_rule *rule) {
  struct unwind_rule none = {};
  *rule = none;
  if (java->segment_shift == 0) return END_UNREADABLE;
  __u64 low = 0, segments = 0;
  for (__u32 i = 0; i < JAVA_CODE_HEAPS; i++) {
    if (address - java->heaps[i].low >= java->heaps[i].high - java->heaps[i].low) continue;
    low = java->heaps[i].low;
    segments = java->heaps[i].segments;
  }
  if (!segments) return END_NO_RULE;
  __u64 blob = 0;
  int reason = java_find_blob(reader, reading, java, low, segments, address, &blob);
  if (reason) return reason;
  __s64 words = 0;
  const __u8 *code = reading->code;
  if (java_read_field(reader, reading, blob, java->frame_size, &words)) return END_UNREADABLE;
  if (java_code_read(reader, address - ARCH_JAVA_CODE_BEFORE, reading->code, sizeof(reading->code))) return END_UNREADABLE;
  __u32 pushed;
  int saves;
  if (words > 0 && words < JAVA_FRAME_WORDS) {
    __s64 begin = 0, complete = 0;
    if (java_read_field(reader, reading, blob, java->code_begin, &begin)) return END_UNREADABLE;
    if (java_read_field(reader, reading, blob, java->frame_complete, &complete)) return END_UNREADABLE;
    if (java->code_begin.bytes < 8) begin = (__s64)((__u64)begin + blob);
    __s64 at = (__s64)(address - (__u64)begin);
    pushed = at < complete ? arch_java_pushed_in_prologue(code, at < 0 ? 0 : (__u64)at) : arch_java_pushed_in_epilogue(code);
    saves = pushed != ARCH_JAVA_RETURN && pushed != ARCH_JAVA_ROOM;
    if (pushed == ARCH_JAVA_WHOLE || pushed == ARCH_JAVA_ROOM) pushed = 8 * (__u32)words;
  } else {
    __s64 text = 0;
    if (java_read_field(reader, reading, blob, java->name, &text) || java_code_read(reader, (__u64)text, &reading->word, sizeof(reading->word))) return END_UNREADABLE;
    __u64 name = reading->word;
    if (name == JAVA_INTERPRETER) {
      rule->cfa_kind = CFA_FRAME_POINTER;
      rule->cfa_reg = UNWIND_INTERPRETED_JAVA;
      return END_NONE;
    }
    pushed = java_pushed_by_name(name, code);
    if (pushed == ARCH_JAVA_WHOLE) return END_NO_RULE;
    saves = pushed == ARCH_JAVA_POINTER;
  }
  rule->cfa_kind = CFA_OFFSET;
  rule->cfa_reg = ARCH_SP;
  rule->cfa_offset = (__s32)pushed;
  if (saves) rule->saved[ARCH_SAVED_FP] = -2;
  return END_NONE;
}
