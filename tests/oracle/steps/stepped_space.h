// SPDX-License-Identifier: Apache-2.0
// The mappings of a process that is stepped, as the walk sees them. Files are opened once, whatever is mapped of them later. Threads: one.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stepped_process.h"
#include "unwind/walk/deferred_walk.h"

namespace cicada::oracle {

class SteppedSpace final : public unwind::AddressSpaceView {
 public:
  explicit SteppedSpace(const SteppedProcess& process) : process_(process) {}

  void look();  // again, after mappings have changed
  std::optional<Mapping> find_mapping(RuntimeAddr address) override;
  const unwind::ImageUnwinder* find_image(uint32_t image) override { return images_[image - 1].unwinder.get(); }
  std::optional<uint64_t> read_code(RuntimeAddr address) override { return process_.read_word(address.value); }

  // As the walk writes it.
  uint64_t frame_of(uint64_t address);
  // "libx264.so.164+0x1234", or the address.
  std::string text_of(uint64_t address);
  std::string image_of(uint64_t address);
  // Where a symbol of the program begins. Nothing: it has none.
  std::optional<uint64_t> find_symbol(const std::string& name);

 private:
  struct Image {
    std::string name;
    std::shared_ptr<const elf::ElfFile> elf;
    std::unique_ptr<unwind::ImageUnwinder> unwinder;
  };
  uint32_t open(const std::string& path, uint64_t begin, uint64_t size);

  const SteppedProcess& process_;
  std::vector<Mapping> mappings_;  // ascending
  std::vector<Image> images_;
  std::map<std::string, uint32_t> by_path_;  // 0: no ELF file
};

}  // namespace cicada::oracle
