// SPDX-License-Identifier: Apache-2.0
#include "symbolize/jit/jit_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/seeded_hash.h"
#include "symbolize/jit/jit_environment.h"

namespace cicada::symbolize {
namespace {

constexpr uint64_t kLeastPercent = 5;  // of a process' samples
constexpr size_t kMaxLines = 4;

// Per stack: whether it or any of its callers is JIT code without a name. Parents come before their children.
std::vector<bool> find_nameless(const profile::ProfileSnapshot& profile) {
  std::vector<bool> nameless;
  nameless.reserve(profile.stacks().size());
  for (const profile::Stack& stack : profile.stacks()) {
    const bool own = profile.frames()[stack.frame.value].kind == profile::FrameKind::kJit && profile.locations(stack.frame).empty();
    nameless.push_back(own || (stack.parent.valid() && nameless[stack.parent.value]));
  }
  return nameless;
}

}  // namespace

std::vector<std::string> jit_advice(const profile::ProfileSnapshot& profile) {
  const bool any = std::any_of(profile.frames().begin(), profile.frames().end(),
                               [](const profile::Frame& frame) { return frame.kind == profile::FrameKind::kJit; });
  if (!any) return {};
  const std::vector<bool> nameless = find_nameless(profile);
  struct Counts {
    uint64_t all = 0, nameless = 0;
  };
  std::vector<Counts> counts(profile.processes().size());
  const profile::Samples& samples = profile.samples();
  for (size_t i = 0; i < samples.stack.size(); ++i) {
    Counts& of_process = counts[profile.threads()[samples.thread[i].value].process.value];
    ++of_process.all;
    const profile::StackId stack = samples.stack[i];
    if (stack.valid() && nameless[stack.value]) ++of_process.nameless;
  }
  std::vector<std::string> lines;
  std::unordered_set<std::string, SeededHash> said;
  for (size_t i = 0; i < counts.size() && lines.size() < kMaxLines; ++i) {
    if (counts[i].nameless == 0 || counts[i].nameless * 100 < counts[i].all * kLeastPercent) continue;
    const profile::Process& process = profile.processes()[i];
    const std::string_view command = profile.text(process.cmdline);
    auto hint = jit_hint(command.substr(0, command.find(' ')));
    if (!hint) hint = jit_hint(profile.text(process.name));  // it ended before its command line was read, or changed it
    if (!hint || !said.insert(*hint).second) continue;
    lines.push_back(fmt::format("{} (process {}): JIT code has no names; restart it as {}", profile.text(process.name), process.pid, *hint));
  }
  return lines;
}

}  // namespace cicada::symbolize
