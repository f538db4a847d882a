// SPDX-License-Identifier: Apache-2.0
// AT_SYSINFO_EHDR gives the beginning; the size follows from the section header table, which the kernel's vDSO keeps and which
// ends the image.
#include "symbolize/kernel/vdso_image.h"

#include <sys/auxv.h>

namespace cicada::symbolize {

Result<elf::ElfFile> load_vdso() {
  const auto* base = reinterpret_cast<const uint8_t*>(::getauxval(AT_SYSINFO_EHDR));
  if (base == nullptr) return make_error(ErrorKind::kNotFound, "[vdso]: this process has none");
  Elf64_Ehdr header;
  std::memcpy(&header, base, sizeof header);
  const size_t size = header.e_shoff + size_t{header.e_shentsize} * header.e_shnum;
  return elf::ElfFile::parse_copy(Bytes(base, size), "[vdso]");
}

}  // namespace cicada::symbolize
