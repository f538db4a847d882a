// SPDX-License-Identifier: Apache-2.0
#include "libdw_fdes.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

namespace cicada::oracle {
namespace {

struct Section {
  Elf_Data* data;
  uint64_t address;
  bool eh_frame;
};

// A fixed-size pointer, without what it is relative to.
std::optional<int64_t> read_fixed(const uint8_t*& at, const uint8_t* end, uint8_t encoding) {
  int64_t value = 0;
  const auto take = [&](auto number) {
    if (end - at < static_cast<ptrdiff_t>(sizeof number)) return false;
    std::memcpy(&number, at, sizeof number);
    at += sizeof number;
    value = static_cast<int64_t>(number);
    return true;
  };
  bool read = false;
  switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8: read = take(uint64_t{}); break;
    case DW_EH_PE_udata4: read = take(uint32_t{}); break;
    case DW_EH_PE_sdata4: read = take(int32_t{}); break;
    case DW_EH_PE_udata2: read = take(uint16_t{}); break;
    case DW_EH_PE_sdata2: read = take(int16_t{}); break;
    default: break;
  }
  return read ? std::optional(value) : std::nullopt;
}

// How a CIE's FDEs write their addresses.
std::optional<uint8_t> find_encoding(const Dwarf_CIE& cie) {
  const char* augmentation = cie.augmentation;
  if (*augmentation != 'z') return *augmentation == 0 ? std::optional<uint8_t>(DW_EH_PE_absptr) : std::nullopt;
  const uint8_t* at = cie.augmentation_data;
  const uint8_t* const end = at + cie.augmentation_data_size;
  for (++augmentation; *augmentation != 0; ++augmentation) {
    switch (*augmentation) {
      case 'R': return at < end ? std::optional(*at) : std::nullopt;
      case 'L': ++at; break;
      case 'P': {
        if (at >= end) return std::nullopt;
        const uint8_t encoding = *at++;
        if (!read_fixed(at, end, encoding)) return std::nullopt;
        break;
      }
      case 'S':
      case 'B': break;
      default: return std::nullopt;
    }
  }
  return DW_EH_PE_absptr;
}

std::optional<LibdwFde> read_fde(const Dwarf_FDE& fde, const Section& section, uint8_t encoding) {
  const uint8_t* at = fde.start;
  const uint64_t here = section.address + static_cast<uint64_t>(at - static_cast<const uint8_t*>(section.data->d_buf));
  if ((encoding & 0x70) != DW_EH_PE_absptr && (encoding & 0x70) != DW_EH_PE_pcrel) return std::nullopt;
  const auto begin = read_fixed(at, fde.end, encoding);
  if (!begin) return std::nullopt;
  const auto size = read_fixed(at, fde.end, encoding & 0x07);  // never signed, never relative
  if (!size) return std::nullopt;
  LibdwFde read;
  read.begin = static_cast<uint64_t>(*begin) + ((encoding & 0x70) == DW_EH_PE_pcrel ? here : 0);
  read.end = read.begin + static_cast<uint64_t>(*size);
  return read;
}

void append_fdes(::Elf* elf, const Section& section, std::vector<LibdwFde>& fdes, uint64_t& unreadable) {
  const auto* const ident = reinterpret_cast<const unsigned char*>(elf_getident(elf, nullptr));
  std::map<Dwarf_Off, std::optional<uint8_t>> encodings;
  Dwarf_Off offset = 0, next = 0;
  Dwarf_CFI_Entry entry{};
  for (;; offset = next) {
    const int result = dwarf_next_cfi(ident, section.data, section.eh_frame, offset, &next, &entry);
    if (result == 1) return;
    if (result < 0) {
      ++unreadable;
      if (next == offset || next == static_cast<Dwarf_Off>(-1)) return;
      continue;
    }
    if (dwarf_cfi_cie_p(&entry)) {
      encodings[offset] = section.eh_frame ? find_encoding(entry.cie) : std::optional<uint8_t>(DW_EH_PE_absptr);
      continue;
    }
    auto known = encodings.find(entry.fde.CIE_pointer);
    if (known == encodings.end()) {  // it stands behind
      Dwarf_CFI_Entry cie{};
      Dwarf_Off behind = 0;
      const bool read = dwarf_next_cfi(ident, section.data, section.eh_frame, entry.fde.CIE_pointer, &behind, &cie) == 0 && dwarf_cfi_cie_p(&cie);
      known = encodings.emplace(entry.fde.CIE_pointer, read ? find_encoding(cie.cie) : std::nullopt).first;
    }
    const auto fde = known->second ? read_fde(entry.fde, section, *known->second) : std::nullopt;
    if (!fde) ++unreadable;
    else if (fde->begin != 0 && fde->end != fde->begin) fdes.push_back(*fde);
  }
}

}  // namespace

std::vector<LibdwFde> list_fdes(::Elf* elf, const char* name, uint64_t& unreadable) {
  std::vector<LibdwFde> fdes;
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return fdes;
  for (Elf_Scn* scn = nullptr; (scn = elf_nextscn(elf, scn)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(scn, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* const found = elf_strptr(elf, names, header.sh_name);
    if (found == nullptr || std::strcmp(found, name) != 0) continue;
    if ((header.sh_flags & SHF_COMPRESSED) != 0 && elf_compress(scn, 0, 0) < 0) continue;
    Elf_Data* const data = elf_getdata(scn, nullptr);
    if (data != nullptr && data->d_buf != nullptr) append_fdes(elf, {data, header.sh_addr, std::strcmp(name, ".eh_frame") == 0}, fdes, unreadable);
  }
  std::sort(fdes.begin(), fdes.end());
  return fdes;
}

}  // namespace cicada::oracle
