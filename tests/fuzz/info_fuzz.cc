// SPDX-License-Identifier: Apache-2.0
// module: symbolize
// Everything DWARF at once. The input is cut into sections: sixteen-bit sizes, then their bytes.
#include <array>

#include "elf/usdt_operands.h"
#include "symbolize/dwarf/dwarf_file.h"
#include "symbolize/dwarf/scopes.h"
#include "symbolize/dwarf/split_dwarf.h"
#include "symbolize/symbols/elf_image_for_test.h"
#include "symbolize/symbols/image_symbols_for_test.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada::symbolize;
  static constexpr std::array<const char*, 11> kNames{".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_rnglists", ".debug_ranges", ".debug_addr", ".debug_str_offsets", ".debug_aranges", ".debug_loc", ".debug_loclists"};
  cicada::ByteCursor cursor(cicada::Bytes(data, size));
  ElfImage image;
  image.add_text(0x1000, 0x1000);
  std::array<uint16_t, kNames.size()> sizes{};
  for (uint16_t& each : sizes) each = cursor.u16();
  DwarfSections package;
  for (size_t i = 0; i < kNames.size(); ++i) {
    const cicada::Bytes bytes = cursor.take(std::min<uint64_t>(sizes[i], cursor.remaining()));
    if (i == 0) package.info = bytes;
    if (i == 1) package.abbrev = bytes;
    if (bytes.empty()) continue;
    image.add({kNames[i], SHT_PROGBITS, 0, 0, 0, 0, std::vector<uint8_t>(bytes.begin(), bytes.end())});
  }
  (void)find_package_sections(cursor.take(cursor.remaining()), package, 0x1234);
  const auto symbols = open_symbols(image.parse(), "fuzz");
  std::vector<cicada::LinkAddr> addresses;
  for (uint64_t address = 0x1000; address < 0x2000; address += 0x40) addresses.push_back(cicada::LinkAddr(address));
  const NamedAddresses named = name_checked(*symbols, addresses);
  for (size_t i = 0; i < addresses.size(); ++i) CHECK(named.positions_of(i).size() <= kMaxScopes + 1);
  for (const FunctionParameters& function : symbols->find_parameters(addresses)) {
    CHECK(function.parameters.size() <= kMaxParameters);
    for (const FunctionParameter& one : function.parameters) CHECK(cicada::elf::is_usdt_operand(one.place));
  }
  return 0;
}
