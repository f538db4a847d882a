// SPDX-License-Identifier: Apache-2.0
// Separate debug files, in the order gdb looks for them: by build-id in each debug directory, then by .gnu_debuglink beside the
// image, in its .debug/ directory, and in the debug directories under the image's own path. A file is accepted only if its build-id
// equals the image's or, where the image has none, if its CRC is the one in .gnu_debuglink.
// All of that in the image's own root (a container's); what a build-id proves is also taken from our debug directories, and at last from
// a debuginfod server.
//
// The link's name comes from a stranger's file: only its last path component is used, so it cannot leave those directories.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "elf/elf_file.h"
#include "profile/profile.h"
#include "symbolize/files/companion_files.h"

namespace cicada::symbolize {

// DIR/.build-id/ab/cdef… + suffix; empty for a build-id that is not lower-case hex of 2..64 bytes.
std::string build_id_path(const std::string& dir, const std::string& build_id, const std::string& suffix);

struct DebugFile {
  CompanionElf file;
  profile::NameSource source;  // kDebugFile, kDebuginfod
};

// `path`: of the image. Nothing found: none, silently. Found but refused: one diagnostic on the debug file.
std::optional<DebugFile> find_debug_file(const elf::ElfFile& elf, const std::string& path, const std::vector<std::string>& debug_dirs,
                                         CompanionFiles& companions);
// The file that dwz moved shared DWARF to (.gnu_debugaltlink; .debug_sup since DWARF 5), by build-id or relative to where `debug` lies: `path`.
std::optional<elf::ElfFile> find_alternate_file(const elf::ElfFile& debug, const std::string& path, const std::vector<std::string>& debug_dirs,
                                                CompanionFiles& companions);

}  // namespace cicada::symbolize
