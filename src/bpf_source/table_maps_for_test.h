// SPDX-License-Identifier: Apache-2.0
// The maps that unwind tables are loaded into: real ones, of a few tables.
#pragma once
#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "bpf_source/table_store.h"

namespace cicada::bpf_source {

class TableMapsTest : public testing::Test {
 protected:
  void SetUp() override {
    LIBBPF_OPTS(bpf_map_create_opts, inner_options, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
    const UniqueFd inner(::bpf_map_create(BPF_MAP_TYPE_ARRAY, "inner", 4, UNWIND_CHUNK_BYTES, 1, &inner_options));
    if (!inner) GTEST_SKIP() << "BPF maps cannot be created here: " << std::strerror(errno);
    LIBBPF_OPTS(bpf_map_create_opts, outer_options, .inner_map_fd = static_cast<__u32>(inner.get()));
    outer.reset(::bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "outer", 4, 4, 64, &outer_options));
    ASSERT_TRUE(outer) << std::strerror(errno);
  }
  TableStore::Maps maps() { return {outer.get(), places, usage, &epoch}; }

  UniqueFd outer;
  std::vector<unwind_place> places{256};
  std::vector<uint64_t> usage = std::vector<uint64_t>(256);
  uint32_t epoch = 0;
};

}  // namespace cicada::bpf_source
