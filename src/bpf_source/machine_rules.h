// SPDX-License-Identifier: Apache-2.0
// Language machines that keep their stack pointer where their own code finds it (unwind/x86_64/machine_stack.h): the rule of that code is the rule of all code
// that they generate. Each address space in which such an image is mapped gets it.
//
//   table loaded: note_rows ──▶ which spaces map it? ──┐
//   mapped:       note_mapping ──▶ is it one? ─────────┴──▶ publish ──▶ the kernel's walk
//
// Threads: any.
#pragma once
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "unwind/rows/unwind_rows.h"

namespace cicada::bpf_source {

class MachineRules {
 public:
  struct Ports {
    std::function<std::vector<uint32_t>(uint32_t image)> find_spaces;
    std::function<void(uint32_t address_space, const unwind_rule&)> publish;
  };
  explicit MachineRules(Ports ports) : ports_(std::move(ports)) {}

  void note_rows(uint32_t image, const unwind::UnwindRows& rows);
  void note_mapping(uint32_t address_space, uint32_t image);
  // find_spaces is not called afterwards.
  void stop();

 private:
  const Ports ports_;
  std::mutex mutex_, asking_;
  bool stopped_ = false;                             // under asking_
  std::unordered_map<uint32_t, unwind_rule> rules_;  // by image; under mutex_
};

}  // namespace cicada::bpf_source
