// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Fixed-width types under the kernel's names, for plain C that is compiled for BPF and for the host.
#pragma once
#if defined(__bpf__)
typedef unsigned char __u8;
typedef signed char __s8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
// Inlined without fail: a BPF subprogram cannot take a pointer into a map value that it is to index freely.
#define ABI_INLINE static inline __attribute__((always_inline))
#else
#include <linux/types.h>
#define ABI_INLINE static inline
#endif
#if defined(__cplusplus)
#define ABI_ASSERT(condition) static_assert(condition, #condition)
#define ABI_ENUM(name, type) enum name : type
#elif defined(__bpf__)
#define ABI_ASSERT(condition) _Static_assert(condition, #condition)
#define ABI_ENUM(name, type) enum name
#else
#define ABI_ASSERT(condition) _Static_assert(condition, #condition)
#define ABI_ENUM(name, type) enum name
#endif
