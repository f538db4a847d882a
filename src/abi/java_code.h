// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Code that a Java virtual machine (HotSpot) has made. Nobody wrote a table for it, and compiled methods keep no frame pointer. But the machine itself has to
// walk its stacks: each block of its code heaps begins with a CodeBlob, which says how large a frame of it is. Where the heaps are, and the layout of what
// is in them, the machine says in exported tables (unwind/java/java_machine.h), once a process. abi/java_lookup.h finds rules with it.
#pragma once
#include "abi/base_types.h"

#define JAVA_CODE_HEAPS 4  // HotSpot has one or three

struct java_code_heap {
  __u64 low, high;  // what is reserved for it; its used part grows within
  __u64 segments;   // a byte a segment: 0 where a block begins, 255 where none is, else how far to go back, in segments
};

// A number in a structure of the machine's.
struct java_field {
  __u16 offset;
  __u8 bytes;  // 1 … 8
  __u8 is_signed;
};

// Of one address space.
struct java_code {
  struct java_code_heap heaps[JAVA_CODE_HEAPS];
  __u32 segment_shift;       // 0: a machine is there, and has not said yet where its code is
  __u32 block_header_bytes;  // before a CodeBlob
  // Of CodeBlob.
  struct java_field name;            // address of a text
  struct java_field frame_size;      // in words, with the return address; 0 and less: its frames are not all of one size
  struct java_field code_begin;      // an address, or, of less than 8 bytes, from the CodeBlob on
  struct java_field frame_complete;  // where its frame is set up, from code_begin on; less than 0: nobody says it
};
ABI_ASSERT(sizeof(struct java_code) == 120);
