// SPDX-License-Identifier: Apache-2.0
// module: symbolize
// /proc/kallsyms, whose module and BPF program names others choose, and the kernel's own text for an address.
#include <sys/mman.h>
#include <unistd.h>

#include <array>

#include "base/check.h"
#include "base/unique_fd.h"
#include "symbolize/kernel/kernel_names.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada;
  using namespace cicada::symbolize;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  KernelSymbol symbol = parse_kernel_text(text.substr(0, 512));
  tidy_bpf_program(symbol);
  CHECK(symbol.name.size() + symbol.module.size() <= 512 + 3);

  const UniqueFd file(::memfd_create("kallsyms", MFD_CLOEXEC));
  if (!file || ::write(file.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  const std::array<uint64_t, 6> addresses{0, 0xffffffff81000000, 0xffffffff81000010, 0xffffffffc0000004, 0x10, ~uint64_t{0}};
  std::vector<KernelSymbol> symbols;
  if (!kallsyms_names("/proc/self/fd/" + std::to_string(file.get()))->resolve(addresses, symbols)) return 0;
  CHECK(symbols.size() == addresses.size());
  for (const KernelSymbol& named : symbols) CHECK(named.name.size() <= size && named.module.size() <= size + 3);
  return 0;
}
