// SPDX-License-Identifier: Apache-2.0
#include "dwarf/frame_sections.h"

namespace cicada::dwarf {
namespace {

// .eh_frame_hdr: version 1, three encodings, where .eh_frame begins, how many FDEs it has. Where it ends is not said, hence the
// count; its search table is not needed.
std::optional<CallFrameSection> follow_eh_frame_header(const elf::ElfFile& elf, LinkAddr at) {
  ByteCursor cursor(elf.contents_at(at));
  const uint8_t version = cursor.u8();
  const uint8_t pointer_encoding = cursor.u8();
  const uint8_t count_encoding = cursor.u8();
  cursor.skip(1);  // encoding of the search table
  if (cursor.failed() || version != 1) return std::nullopt;
  PointerBases bases;
  bases.section = at;
  bases.data = at;
  const auto begin = read_pointer(cursor, pointer_encoding, bases);
  if (!begin) return std::nullopt;
  CallFrameSection section;
  if (const auto count = read_pointer(cursor, count_encoding, bases)) section.max_fdes = *count;
  section.address = LinkAddr(*begin);
  section.bytes = elf.contents_at(section.address);
  if (section.bytes.empty()) return std::nullopt;
  return section;
}

}  // namespace

std::vector<CallFrameSection> find_frame_sections(const elf::ElfFile& elf) {
  std::vector<CallFrameSection> found;
  PointerBases bases;
  if (const elf::Section* text = elf.find_section(".text")) bases.text = text->address;
  if (const elf::Section* got = elf.find_section(".got")) bases.data = got->address;

  const elf::Section* eh_frame = elf.find_section(".eh_frame");
  if (eh_frame != nullptr && !elf.contents(*eh_frame).empty()) {
    CallFrameSection section;
    section.bytes = elf.contents(*eh_frame);
    section.address = eh_frame->address;
    section.bases = bases;
    found.push_back(section);
  } else if (eh_frame == nullptr || eh_frame->type != SHT_NOBITS) {  // NOBITS: a separate debug file, its segments are empty
    for (const elf::Segment& segment : elf.segments()) {
      if (segment.type != PT_GNU_EH_FRAME) continue;
      if (auto section = follow_eh_frame_header(elf, segment.address)) {
        section->bases = bases;
        found.push_back(*section);
      }
      break;
    }
  }
  if (const elf::Section* debug_frame = elf.find_section(".debug_frame");
      debug_frame != nullptr && (debug_frame->flags & SHF_COMPRESSED) == 0 && !elf.contents(*debug_frame).empty()) {
    CallFrameSection section;
    section.bytes = elf.contents(*debug_frame);
    section.address = debug_frame->address;
    section.format = FrameFormat::kDebugFrame;
    section.bases = bases;
    found.push_back(section);
  }
  return found;
}

}  // namespace cicada::dwarf
