// SPDX-License-Identifier: Apache-2.0
#include "parser/instructions.h"

#include <capstone/capstone.h>

#include <memory>

namespace cicada::parser {

bool begins_instruction(std::span<const uint8_t> code, uint64_t offset) {
  csh handle = 0;
  if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK) return false;
  const std::unique_ptr<csh, cs_err (*)(csh*)> closed(&handle, &cs_close);
  const std::unique_ptr<cs_insn, void (*)(cs_insn*)> instruction(cs_malloc(handle), [](cs_insn* one) { cs_free(one, 1); });
  const uint8_t* at = code.data();
  size_t left = code.size();
  uint64_t address = 0;
  while (address < offset && cs_disasm_iter(handle, &at, &left, &address, instruction.get())) continue;
  return address == offset && cs_disasm_iter(handle, &at, &left, &address, instruction.get());
}

}  // namespace cicada::parser
