// SPDX-License-Identifier: Apache-2.0
// The files that a program will map to run: itself (or its script's interpreter), its ELF loader, the libraries it names. The held
// command maps their code before its exec, so they are known and their unwind tables loaded when its first instruction runs: without
// that, main of a large static program runs for milliseconds before it can be walked through.
//
// A guess: no hwcaps directories, no preloads, no dlopen. What is missed is followed as any other mapping.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace cicada::cli {

// An executable segment, for mmap.
struct StartupImage {
  UniqueFd file;
  uint64_t offset = 0, size = 0;  // bytes; offset is of a page
};

// `program` as execve gets it; `environment`: "NAME=value". At most 256 segments; never fails, files that cannot be read are left out.
std::vector<StartupImage> find_startup_images(const std::string& program, const std::vector<std::string>& environment);

// Maps all of them into this process. Async-signal-safe.
void map_startup_images(const std::vector<StartupImage>& images);

}  // namespace cicada::cli
