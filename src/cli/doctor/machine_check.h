// SPDX-License-Identifier: Apache-2.0
// What this machine lets this user do: each question asked of the kernel itself, not derived from version numbers where
// trying is possible.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cicada::cli {

enum class Verdict : uint8_t {
  kWorks,
  kLimited,  // recording works; something will be missing, or less good
  kMissing,  // recording does not work until the remedy is applied
};

struct MachineCheck {
  std::string name;  // "BTF"
  Verdict verdict = Verdict::kWorks;
  std::string found;   // what is so, in a few words
  std::string remedy;  // what to do; empty when nothing is to be done
};

// All of them, in the order people should read them. Opens and closes a few kernel objects; takes milliseconds.
std::vector<MachineCheck> check_machine();

bool can_record(const std::vector<MachineCheck>& checks);
std::string format_checks(const std::vector<MachineCheck>& checks);
std::string checks_as_json(const std::vector<MachineCheck>& checks);

}  // namespace cicada::cli
