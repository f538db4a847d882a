// SPDX-License-Identifier: Apache-2.0
// A .eh_frame or .debug_frame as a sequence of FDEs, each with its CIE.
//
//   FdeReader reader(section);
//   while (auto fde = reader.next()) use(*fde, reader.cie(fde->cie));
//
// Bounded on hostile input: entries are read in file order, each CIE once, and the bytes of all CIEs together may be twice the
// section at most (CIEs may overlap when FDEs point into the middle of each other, an honest file never does that).
// A malformed entry is skipped and counted; one whose length leaves the section ends it.
// Source: DWARF 5 section 6.4.1; Linux Standard Base 5.0 section 10.6; "eh", "B", "G" augmentations: GCC unwind-dw2.c.
#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/address.h"
#include "base/byte_cursor.h"
#include "base/seeded_hash.h"
#include "dwarf/pointer_encoding.h"

namespace cicada::dwarf {

enum class FrameFormat : uint8_t { kEhFrame, kDebugFrame };

// Borrows the bytes.
struct CallFrameSection {
  Bytes bytes;
  LinkAddr address;  // of bytes[0]
  FrameFormat format = FrameFormat::kEhFrame;
  PointerBases bases;
  uint64_t max_fdes = ~uint64_t{0};  // where the end of the section is not known, .eh_frame_hdr tells how many there are
};

struct Cie {
  uint64_t code_factor = 1;
  int64_t data_factor = 1;
  uint64_t return_register = 0;
  uint8_t pointer_encoding = kAbsolute;
  bool has_augmentation_data = false;  // 'z'
  bool signal_frame = false;           // 'S'
  uint64_t program_begin = 0, program_end = 0;  // in the section's bytes
};

struct Fde {
  LinkAddr begin;
  uint64_t size = 0;
  uint64_t program_begin = 0, program_end = 0;  // in the section's bytes
  uint32_t cie = 0;                             // of FdeReader::cie
};

class FdeReader {
 public:
  explicit FdeReader(const CallFrameSection& section) : section_(section) {}
  std::optional<Fde> next();  // nothing at the end
  const Cie& cie(uint32_t index) const { return cies_[index]; }
  const std::vector<Cie>& cies() const { return cies_; }
  uint64_t malformed() const { return malformed_; }

 private:
  static constexpr uint32_t kMalformed = ~uint32_t{0};
  struct Entry {
    uint64_t body = 0, end = 0;  // behind the length; behind the entry
    bool wide = false;           // 64-bit DWARF
  };
  std::optional<Entry> read_entry(uint64_t at) const;
  std::optional<Fde> next_common();
  std::optional<Fde> read_fde(const Entry& entry, uint64_t cie_at);
  uint32_t find_cie(uint64_t at);
  std::optional<Cie> read_cie(uint64_t at);

  CallFrameSection section_;
  uint64_t position_ = 0, found_ = 0, malformed_ = 0, cie_bytes_ = 0;
  uint64_t last_cie_at_ = ~uint64_t{0};
  uint32_t last_cie_ = kMalformed;
  bool last_cie_is_common_ = false;
  std::vector<Cie> cies_;
  std::unordered_map<uint64_t, uint32_t, SeededHash> cie_at_;  // offset -> index, kMalformed if it is not one
};

}  // namespace cicada::dwarf
