// SPDX-License-Identifier: Apache-2.0
// Functions that are chosen from several when a program starts (IFUNC: memcpy, strlen), by what the CPU can do. A library that this program has loaded, too, has chosen
// the same for it. Threads: any.
#pragma once
#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/address.h"

namespace cicada::bpf_source {

// What `symbol` of that file leads to. Nothing: this program has not loaded the file, or it has no such symbol.
std::optional<FileOffset> find_indirect_function(const struct stat& file, const std::string& file_name, const std::string& symbol);

}  // namespace cicada::bpf_source
