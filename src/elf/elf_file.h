// SPDX-License-Identifier: Apache-2.0
// An ELF64 little-endian image as the rest of cicada needs it: segments, sections by name, build-id, notes. Own thin reader over
// ByteCursor: libelf cannot be told to distrust a file, and rows need nothing else.
//
// Owns the mapping. Immutable after open; any thread.
#pragma once
#include <elf.h>

#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/file_mapping.h"
#include "elf/image_header.h"

namespace cicada::elf {

struct Section {
  std::string_view name;
  uint32_t type = 0;
  uint64_t flags = 0;
  LinkAddr address;
  FileOffset offset;
  uint64_t size = 0, entry_size = 0;
  uint32_t link = 0, info = 0;
};

class ElfFile {
 public:
  // `name` is what errors call the file.
  // Fails: kCorrupt (header or tables out of the file), kUnsupported (not ELF64 little-endian of this architecture).
  static Result<ElfFile> parse(FileMapping file, const std::string& name);
  static Result<ElfFile> open(const std::string& path);
  // An image that is only bytes in memory (the vDSO). Copies.
  static Result<ElfFile> parse_copy(Bytes bytes, const std::string& name);

  const std::string& name() const { return name_; }
  Bytes bytes() const { return bytes_; }
  void drop_pages() const {
    if (file_) file_->drop_pages();
  }
  uint16_t type() const { return type_; }  // ET_EXEC, ET_DYN
  LinkAddr entry() const { return entry_; }
  const std::vector<Segment>& segments() const { return segments_; }
  const std::vector<Section>& sections() const { return sections_; }
  const Section* find_section(std::string_view name) const;
  // Raw contents; empty for SHT_NOBITS or out-of-file sections. SHF_COMPRESSED is not undone here.
  Bytes contents(const Section& section) const;
  Bytes contents_at(LinkAddr address) const;  // from there to the end of its PT_LOAD's file part
  std::string build_id() const;               // lower-case hex, or ""
  std::string interpreter() const;            // PT_INTERP, or ""

 private:
  ElfFile() = default;
  static Result<ElfFile> parse_bytes(Bytes bytes, const std::string& name);  // borrows; the two above give it an owner

  std::string name_;
  std::optional<FileMapping> file_;
  std::vector<uint8_t> copy_;
  Bytes bytes_;
  uint16_t type_ = 0;
  LinkAddr entry_;
  std::vector<Segment> segments_;
  std::vector<Segment> loaded_;  // PT_LOAD, by address: the last one that begins before an address has it
  std::vector<Section> sections_;
};

}  // namespace cicada::elf
