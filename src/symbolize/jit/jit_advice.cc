// SPDX-License-Identifier: Apache-2.0
#include "symbolize/jit/jit_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bitset>

#include "profile/call_tree.h"
#include "symbolize/jit/language_runtime.h"

namespace cicada::symbolize {
namespace {

constexpr uint64_t kLeastPercent = 5;  // of a process' samples
constexpr uint64_t kLeastSamples = 5;  // a run time that only starts shows nothing of its language

// What a frame, and a stack with it, has: a bit for each language whose interpreter it is in or whose files, and two for JIT code.
enum : size_t { kInterpreter = 0, kFiles = kLanguages, kNamelessJit = 2 * kLanguages, kNamedJit, kMarks };
using Marks = std::bitset<kMarks>;

std::vector<Marks> mark_frames(const profile::ProfileSnapshot& profile) {
  std::vector<std::optional<Language>> of_image;
  for (const profile::Image& image : profile.images()) of_image.push_back(find_language(profile.text(image.path)));
  std::vector<Marks> marks(profile.frames().size());
  for (size_t i = 0; i < marks.size(); ++i) {
    const profile::FrameId id(static_cast<uint32_t>(i));
    const profile::Frame& frame = profile.frames()[i];
    if (frame.kind == profile::FrameKind::kJit) marks[i].set(profile.locations(id).empty() ? kNamelessJit : kNamedJit);
    const auto language = frame.image.valid() ? of_image[frame.image.value] : std::nullopt;
    if (!language) continue;
    marks[i].set(kFiles + static_cast<size_t>(*language));
    profile::PlaceId outermost = profile.place(id);
    while (profile.outer(outermost).valid()) outermost = profile.outer(outermost);
    if (interprets(*language, profile::frame_name(profile, id, outermost)))
      marks[i].set(kInterpreter + static_cast<size_t>(*language));
  }
  return marks;
}

// With all of a stack's callers. Parents come before their children.
std::vector<Marks> mark_stacks(const profile::ProfileSnapshot& profile) {
  const std::vector<Marks> of_frame = mark_frames(profile);
  std::vector<Marks> marks;
  marks.reserve(profile.stacks().size());
  for (const profile::Stack& stack : profile.stacks())
    marks.push_back(of_frame[stack.frame.value] | (stack.parent.valid() ? marks[stack.parent.value] : Marks()));
  return marks;
}

std::optional<Language> language_of_program(const profile::ProfileSnapshot& profile, const profile::Process& process) {
  const std::string_view command = profile.text(process.cmdline);
  const auto language = find_language(command.substr(0, command.find(' ')));
  return language ? language : find_language(profile.text(process.name));  // it ended before its command line was read, or changed it
}

}  // namespace

std::vector<std::string> jit_advice(const profile::ProfileSnapshot& profile) {
  const std::vector<Marks> marks = mark_stacks(profile);
  struct Counts {
    uint64_t all = 0, shown = 0;
    std::array<uint64_t, kLanguages> hidden{};
  };
  std::vector<Counts> counts(profile.processes().size());
  const profile::Samples& samples = profile.samples();
  for (size_t i = 0; i < samples.stack.size(); ++i) {
    const profile::ProcessId process = profile.threads()[samples.thread[i].value].process;
    Counts& of_process = counts[process.value];
    ++of_process.all;
    if (!samples.stack[i].valid()) continue;
    const Marks& stack = marks[samples.stack[i].value];
    if (stack[kNamedJit]) ++of_process.shown;
    // JIT code belongs to the run time that it was called from; where the walk did not come that far, to the program.
    std::optional<Language> of_jit;
    for (size_t language = 0; language < kLanguages; ++language) {
      if (stack[kInterpreter + language]) ++of_process.hidden[language];
      if (stack[kFiles + language]) of_jit = static_cast<Language>(language);
    }
    if (!stack[kNamelessJit]) continue;
    if (!of_jit) of_jit = language_of_program(profile, profile.processes()[process.value]);
    if (of_jit && !stack[kInterpreter + static_cast<size_t>(*of_jit)]) ++of_process.hidden[static_cast<size_t>(*of_jit)];
  }
  std::vector<std::string> lines;
  std::bitset<kLanguages> said;
  for (size_t i = 0; i < counts.size(); ++i) {
    for (size_t language = 0; language < kLanguages; ++language) {
      const uint64_t hidden = counts[i].hidden[language];
      if (said[language] || counts[i].shown != 0 || hidden < kLeastSamples || hidden * 100 < counts[i].all * kLeastPercent) continue;
      said.set(language);
      const profile::Process& process = profile.processes()[i];
      const LanguageRuntime& runtime = runtime_of(static_cast<Language>(language));
      lines.push_back(fmt::format("{} (process {}): {} functions are not shown; {}", profile.text(process.name), process.pid, runtime.name, runtime.remedy));
    }
  }
  return lines;
}

}  // namespace cicada::symbolize
