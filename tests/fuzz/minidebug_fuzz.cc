// SPDX-License-Identifier: Apache-2.0
// module: symbolize
// MiniDebugInfo and compressed sections: the input is a .gnu_debugdata section and a compressed .debug_info in turn.

#include "symbolize/symbols/elf_image_for_test.h"
#include "symbolize/files/mini_debug_info.h"
#include "symbolize/files/section_contents.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using cicada::WorkBudget;
  using namespace cicada::symbolize;
  if (size == 0 || size > (1 << 20)) return 0;
  const std::vector<uint8_t> bytes(data + 1, data + size);
  ElfImage image;
  image.add_text(0x1000, 16);
  image.add({".gnu_debugdata", SHT_PROGBITS, 0, 0, 0, 0, bytes});
  image.add({".debug_info", SHT_PROGBITS, SHF_COMPRESSED, 0, 0, 0, bytes});
  image.add({".zdebug_line", SHT_PROGBITS, 0, 0, 0, 0, bytes});
  const auto elf = image.parse();
  if ((data[0] & 1) != 0) {
    (void)static_cast<bool>(load_mini_debug_info(elf));
  } else {
    WorkBudget budget = decompression_budget(elf);
    (void)static_cast<bool>(SectionContents::load(elf, ".debug_info", budget));
    (void)static_cast<bool>(SectionContents::load(elf, ".debug_line", budget));
  }
  return 0;
}
