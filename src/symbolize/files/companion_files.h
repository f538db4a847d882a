// SPDX-License-Identifier: Apache-2.0
// Files that an image names or that belong to its build-id: its debug file, what dwz moved out of that, split units. Whoever parses an image
// does not open them but asks here, by name. The holder of this port opens with the rights, and in the root, that it sees fit.
// What comes back is not believed yet: the one who asked compares build-ids, checksums, unit ids.
#pragma once
#include <memory>
#include <stop_token>
#include <string>

#include "elf/elf_file.h"
#include "symbolize/files/file_root.h"
#include "symbolize/symbolize_options.h"

namespace cicada::symbolize {

class DebuginfodClient;

class CompanionFiles {
 public:
  enum class Place : uint8_t {
    kImage,   // where the image's process would find the path
    kHost,    // where we would, if that is somewhere else: for files that a build-id vouches for
    kServer,  // at a debuginfod server; the name is a build-id
  };
  struct File {
    UniqueFd fd;
    std::string path;  // where links led; "" from a server
  };
  virtual ~CompanionFiles() = default;
  // Fails: kNotFound (most names), kInvalid (not a regular file), the system's error. Threads: any; they may share one object.
  virtual Result<File> open(Place place, const std::string& name) = 0;
};

// From `root` and our own; from `debuginfod` if it is not null, until `stop` is requested.
std::shared_ptr<DebuginfodClient> debuginfod_of(const SymbolizeOptions& options);  // null: the options want none
std::shared_ptr<CompanionFiles> companions_in(FileRoot root, std::shared_ptr<DebuginfodClient> debuginfod = nullptr, std::stop_token stop = {});

struct CompanionElf {
  elf::ElfFile elf;  // called as it was asked for
  std::string path;  // CompanionFiles::File::path
};
Result<CompanionElf> open_companion(CompanionFiles& companions, CompanionFiles::Place place, const std::string& name);

}  // namespace cicada::symbolize
