// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/indirect_functions.h"

#include <dlfcn.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <fstream>
#include <memory>

namespace cicada::bpf_source {

std::optional<FileOffset> find_indirect_function(const struct stat& file, const std::string& file_name, const std::string& symbol) {
  const std::unique_ptr<void, int (*)(void*)> library(::dlopen(file_name.c_str(), RTLD_NOLOAD | RTLD_NOW), [](void* opened) { return opened == nullptr ? 0 : ::dlclose(opened); });
  const auto address = library ? reinterpret_cast<uintptr_t>(::dlsym(library.get(), symbol.c_str())) : 0;
  if (address == 0) return std::nullopt;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0, offset = 0, inode = 0;
    unsigned major_number = 0, minor_number = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx r-xp %llx %x:%x %llu", &begin, &end, &offset, &major_number, &minor_number, &inode) != 6) continue;
    if (address < begin || address >= end) continue;
    if (inode != file.st_ino || major_number != major(file.st_dev) || minor_number != minor(file.st_dev)) return std::nullopt;
    return FileOffset(offset + (address - begin));
  }
  return std::nullopt;
}

}  // namespace cicada::bpf_source
