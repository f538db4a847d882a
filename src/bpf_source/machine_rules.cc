// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/machine_rules.h"

#include <algorithm>

namespace cicada::bpf_source {

// Who maps it meanwhile is found by one of both: it is known to be a machine before the spaces are looked at, and a mapping is there before it is noted.
void MachineRules::note_rows(uint32_t image, const unwind::UnwindRows& rows) {
  const auto rule = std::find_if(rows.rules().begin(), rows.rules().end(), [](const unwind_rule& one) { return one.cfa_kind == CFA_DEREF_TWICE; });
  if (rule == rows.rules().end()) return;
  {
    const std::lock_guard lock(mutex_);
    rules_[image] = *rule;
  }
  const std::lock_guard asking(asking_);
  if (stopped_) return;
  for (const uint32_t space : ports_.find_spaces(image)) ports_.publish(space, *rule);
}

void MachineRules::note_mapping(uint32_t address_space, uint32_t image) {
  const std::lock_guard lock(mutex_);
  if (const auto rule = rules_.find(image); rule != rules_.end()) ports_.publish(address_space, rule->second);
}

void MachineRules::stop() {
  const std::lock_guard asking(asking_);
  stopped_ = true;
}

}  // namespace cicada::bpf_source
