// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// A frame as the kernel stores it: eight bytes, already adjusted (return address − 1; exact at the leaf and above signal frames).
//
//   63   61 60        40 39                                    0
//   [ kind ][  image   ][ link address in the image            ]    kind FRAME_IMAGE
//   [ kind ][ runtime address, 61 bits                         ]    the others
#pragma once
#include "abi/base_types.h"

#define FRAME_KIND_SHIFT 61
#define FRAME_IMAGE_SHIFT 40
#define FRAME_IMAGE_MASK ((1u << 21) - 1)
#define FRAME_OFFSET_MASK ((1ull << 40) - 1)
#define FRAME_ADDRESS_MASK ((1ull << 61) - 1)

enum frame_kind {
  FRAME_UNKNOWN = 0,   // outside every known mapping
  FRAME_IMAGE = 1,     // (image, link address)
  FRAME_JIT = 2,       // anonymous executable memory
  FRAME_KERNEL = 3,    // runtime kernel address, low 61 bits (sign-extend)
  FRAME_USER_32 = 4,   // a 32-bit task's address
};

static inline __u64 frame_in_image(__u32 image, __u64 link_address) {
  return ((__u64)FRAME_IMAGE << FRAME_KIND_SHIFT) | ((__u64)(image & FRAME_IMAGE_MASK) << FRAME_IMAGE_SHIFT) |
         (link_address & FRAME_OFFSET_MASK);
}
static inline __u64 frame_at(__u32 kind, __u64 address) {
  return ((__u64)kind << FRAME_KIND_SHIFT) | (address & FRAME_ADDRESS_MASK);
}
static inline __u32 frame_kind_of(__u64 frame) { return (__u32)(frame >> FRAME_KIND_SHIFT); }
static inline __u32 frame_image_of(__u64 frame) { return (__u32)(frame >> FRAME_IMAGE_SHIFT) & FRAME_IMAGE_MASK; }
static inline __u64 frame_link_address_of(__u64 frame) { return frame & FRAME_OFFSET_MASK; }
static inline __u64 frame_address_of(__u64 frame) {
  __u64 address = frame & FRAME_ADDRESS_MASK;
  if (frame_kind_of(frame) == FRAME_KERNEL) address |= ~FRAME_ADDRESS_MASK;
  return address;
}
