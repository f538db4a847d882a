// SPDX-License-Identifier: Apache-2.0
// Names of kernel addresses: a port, with /proc/kallsyms behind it here. A live session supplies a faster one (a BPF program
// that prints "%pS": 256 addresses in 0.6 ms, where reading kallsyms takes 57 ms).
// Threads: one at a time.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "profile/profile.h"

namespace cicada::symbolize {

struct KernelSymbol {
  std::string name;     // empty: unknown
  std::string module;   // "ext4", "bpf"; empty: the kernel proper
  uint64_t offset = 0;  // bytes into the function
  profile::NameSource source = profile::NameSource::kNone;
};

class KernelNames {
 public:
  virtual ~KernelNames() = default;
  // Appends one symbol per address, in order. Fails only if nothing at all can be named.
  virtual Result<void> resolve(std::span<const uint64_t> addresses, std::vector<KernelSymbol>& symbols) = 0;
};

// Reads `path` at the first resolve. Where addresses are hidden (kptr_restrict) that is reported once, with the remedy.
std::unique_ptr<KernelNames> kallsyms_names(std::string path = "/proc/kallsyms");

// Kernel addresses mean something only in the boot they were recorded in.
bool recorded_by_this_boot(const profile::Header& header);

// The kernel's own text for an address: "tcp_sendmsg+0x12/0x340 [module]", with or without offset and module. A text that is
// only a number ("0xffffffff81000000") has no name.
KernelSymbol parse_kernel_text(std::string_view text);
// As people are shown BPF programs: "bpf_prog_6deef7357e7b4530_sd_fw_egress" -> "sd_fw_egress" + module "bpf".
void tidy_bpf_program(KernelSymbol& symbol);

}  // namespace cicada::symbolize
