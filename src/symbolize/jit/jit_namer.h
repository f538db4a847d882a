// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <deque>
#include <mutex>

#include "symbolize/jit/jit_symbols.h"
#include "symbolize/namer.h"

namespace cicada::symbolize {

// The JIT symbols of a recording, indexed when the first question comes, as that takes 0.2 µs each. Threads: any.
class JitIndex {
 public:
  void add(std::vector<JitSymbol> symbols);
  // What is known of `address_space`. Names are shown as they are.
  NamedAddresses name(uint32_t address_space, std::span<const uint64_t> addresses, const std::stop_token& stop);

 private:
  std::mutex new_mutex_, mutex_;
  std::vector<std::vector<JitSymbol>> new_;
  std::deque<std::vector<JitSymbol>> indexed_;
  JitSymbols symbols_;  // of indexed_
  DemangleCache as_is_{names::Demangle::kNone, false};
};

// Names of JIT code in one address space. Borrows the index.
class JitNamer final : public Namer {
 public:
  JitNamer(JitIndex& index, uint32_t address_space) : index_(index), address_space_(address_space) {}
  Result<NamedAddresses> name(std::span<const uint64_t> addresses, NameDepth, const std::stop_token& stop) override {
    return index_.name(address_space_, addresses, stop);
  }

 private:
  JitIndex& index_;
  uint32_t address_space_;
};

}  // namespace cicada::symbolize
