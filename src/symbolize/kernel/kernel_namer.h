// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "symbolize/kernel/kernel_names.h"
#include "symbolize/namer.h"

namespace cicada::symbolize {

// Names of kernel addresses, modules' and BPF programs' among them. Borrows all.
class KernelNamer final : public Namer {
 public:
  KernelNamer(KernelNames& names, DemangleCache& demangled) : names_(names), demangled_(demangled) {}
  Result<NamedAddresses> name(std::span<const uint64_t> addresses, NameDepth depth, const std::stop_token& stop) override;

 private:
  KernelNames& names_;
  DemangleCache& demangled_;
};

}  // namespace cicada::symbolize
