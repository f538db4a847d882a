// SPDX-License-Identifier: Apache-2.0
// Split DWARF: the entries of a unit that its object file left in a .dwo file, or that were packed into IMAGE.dwp (which
// elfutils 0.188 cannot read).
//
// A .dwo is named by the image, so a stranger chooses the path: it is accepted only if its id is the skeleton's. Source: DWARF 5, sections 3.1.3 and 7.3.5; the GNU index format (version 2).
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "symbolize/dwarf/dwarf_file.h"
#include "symbolize/files/companion_files.h"

namespace cicada::symbolize {

class SplitUnits {
 public:
  SplitUnits(std::string image_path, CompanionFiles& companions) : image_path_(std::move(image_path)), companions_(companions) {}
  // The unit behind a skeleton. Nothing, with one diagnostic for the file, if it cannot be found. Threads: any.
  std::shared_ptr<DwarfUnit> find(const DwarfUnit& skeleton, WorkBudget& budget);
  // Of files that were opened: much, mostly.
  bool has_files() {
    const std::lock_guard lock(mutex_);
    return !files_.empty();
  }

 private:
  struct File {
    std::optional<elf::ElfFile> elf;
    std::unique_ptr<DwarfFile> dwarf;
    SectionContents cu_index;
  };
  const File* find_file(const std::string& path);
  std::shared_ptr<DwarfUnit> find_in_package(const DwarfUnit& skeleton, WorkBudget& budget);
  std::shared_ptr<DwarfUnit> find_in_file(const File& file, const DwarfUnit& skeleton, WorkBudget& budget);

  std::string image_path_;
  CompanionFiles& companions_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<File>> files_;  // those that could not be opened too
};

// One row of a package's unit index: the parts of each section that belong to the unit. Nothing if `dwo_id` is not in it.
std::optional<DwarfSections> find_package_sections(Bytes cu_index, const DwarfSections& package, uint64_t dwo_id);

}  // namespace cicada::symbolize
