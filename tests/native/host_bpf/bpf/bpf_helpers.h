// SPDX-License-Identifier: Apache-2.0
// libbpf's header of this name, for programs compiled for the host: the helpers are functions that a test defines.
#pragma once
#include <linux/types.h>

#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) __typeof__(value) *name
#define __array(name, value) __typeof__(value) *name[]
#undef __always_inline  // glibc has one
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))
#define __weak __attribute__((weak))

void *bpf_map_lookup_elem(const void *map, const void *key);
long bpf_probe_read_user(void *to, __u32 size, const void *from);
long bpf_probe_read_kernel(void *to, __u32 size, const void *from);
long bpf_loop(__u32 iterations, long (*callback)(__u32 index, void *context), void *context, __u64 flags);
__u32 bpf_get_smp_processor_id(void);
