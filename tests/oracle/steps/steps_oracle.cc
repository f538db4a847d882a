// SPDX-License-Identifier: Apache-2.0
// Runs a program, and in windows instruction by instruction while calls and returns keep a shadow stack (shadow_stack.h). At each of them, or each
// EVERYth, the user-space build of the walk must find exactly the callers that the shadow stack has. What was called before the window began is not known to it: an
// instruction without a known caller is not judged. From a program's first instruction on (neither --marker nor --after) all callers are known, and above them is nothing.
//
//   steps_oracle [--marker=FUNCTION] [--after=MS] [--windows=N] [--gap=MS] [--steps=N] [--every=N] [--worst=N] [--wrong=PPM] [--missed=PPM] -- PROGRAM ARGUMENTS…
//
// A window begins where the program is after MS, or when it calls FUNCTION next; another one GAP ms after its end. Prints a line for each image, of the instructions in it at which the walk began: exact, cut off (all that was found is right,
// but callers are missing), wrong; and the instructions whose rule was to blame most often. An instruction is to blame if the frame above it is the first that is not right.
// Exit code 1: more than --wrong of a million are wrong, or more than --missed are not exact, or nothing was judged.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "shadow_stack.h"
#include "stepped_process.h"
#include "stepped_space.h"

namespace cicada::oracle {
namespace {

constexpr uint64_t kMostOfAStack = 16 << 20, kMore = 512;  // more than what is known: CFAs are above their frames

struct Options {
  std::string marker;
  uint64_t after_ms = 0, windows = 1, gap_ms = 0, steps = 1'000'000, every = 1, worst = 10, wrong_ppm = 1'000'000, missed_ppm = 1'000'000;
  std::vector<std::string> command;
};

struct Verdicts {
  uint64_t judged = 0, exact = 0, cut = 0, wrong = 0, frames = 0;
};

std::string_view text_of(end_reason end) {
  switch (end) {
#define X(name, complete, text) case END_##name: return text;
    CICADA_END_REASONS(X)
#undef X
    default: return "?";
  }
}

class Judge {
 public:
  Judge(const SteppedProcess& process, SteppedSpace& space, bool knows_all) : process_(process), space_(space), knows_all_(knows_all) {}

  void judge(const ShadowStack& shadow) {
    const user_regs_struct& regs = process_.registers();
    const std::vector<ShadowStack::Call> calls = shadow.frames();
    if (calls.empty() && !knows_all_) return;
    // A system call has these in the kernel: no sample is taken there.
    unwind::StackCopy from;
    const uint64_t by_dwarf[] = {regs.rax, regs.rdx, regs.rcx, regs.rbx, regs.rsi, regs.rdi, regs.rbp, regs.rsp, regs.r8, regs.r9, regs.r10, regs.r11, regs.r12, regs.r13, regs.r14, regs.r15};
    std::copy(std::begin(by_dwarf), std::end(by_dwarf), from.gpr);
    from.ip = regs.rip;
    from.exact_ip = from.all_registers = true;
    const uint64_t top = std::max<uint64_t>(shadow.top(), regs.rsp) + kMore;
    const uint64_t begin = regs.rsp - ARCH_RED_ZONE;  // where the kernel's walk reads, too
    copy_.assign(std::min<uint64_t>(top - begin, kMostOfAStack), 0);
    // What a new frame has not touched yet is not there.
    size_t there = 0;
    while (there < copy_.size() && !process_.read_word(begin + there)) there = std::min<size_t>(copy_.size(), there + 4096 - (begin + there) % 4096);
    copy_.resize(there + process_.read(begin + there, std::span(copy_).subspan(there)));
    from.stack = copy_;
    from.below = ARCH_RED_ZONE;
    const unwind::DeferredStack found = unwind::finish_walk(from, space_);

    Verdicts& verdicts = by_image_[space_.image_of(regs.rip)];
    ++verdicts.judged;
    verdicts.frames += calls.size();
    uint64_t below = regs.rip;
    for (size_t i = 0; i < calls.size(); ++i) {
      const uint64_t address = calls[i].exact ? calls[i].return_address : calls[i].return_address - 1;
      const bool is_there = i + 1 < found.frames.size();
      if (is_there && found.frames[i + 1] == space_.frame_of(address)) {
        below = address;
        continue;
      }
      ++(is_there ? verdicts.wrong : verdicts.cut);
      auto& [cut, wrong] = to_blame_[fmt::format("{}: {}", space_.text_of(below), is_there ? "wrong" : text_of(found.end))];
      ++(is_there ? wrong : cut);
      return;
    }
    const bool goes_on = found.frames.size() > calls.size() + 1;
    if (knows_all_ && (goes_on || found.end != END_DEFERRED)) {
      ++(goes_on ? verdicts.wrong : verdicts.cut);
      auto& [cut, wrong] = to_blame_[fmt::format("{}: {}", space_.text_of(below), goes_on ? "goes on" : text_of(found.end))];
      ++(goes_on ? wrong : cut);
      return;
    }
    ++verdicts.exact;
  }

  // Of all images together.
  Verdicts print(uint64_t worst) const {
    Verdicts all;
    const auto print_one = [](const std::string& name, const Verdicts& v) {
      const auto percent = [&](uint64_t part) { return v.judged == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(v.judged); };
      fmt::print("{:<32} {:>10} judged {:>6.1f} deep  exact {:>9.5f} %  cut off {:>8.5f} %  wrong {:>8.5f} %\n", name, v.judged, v.judged == 0 ? 0 : static_cast<double>(v.frames) / static_cast<double>(v.judged),
                 percent(v.exact), percent(v.cut), percent(v.wrong));
    };
    for (const auto& [name, verdicts] : by_image_) {
      print_one(name, verdicts);
      all.judged += verdicts.judged, all.exact += verdicts.exact, all.cut += verdicts.cut, all.wrong += verdicts.wrong, all.frames += verdicts.frames;
    }
    print_one("all", all);
    std::vector<std::pair<uint64_t, std::string>> order;
    for (const auto& [text, counts] : to_blame_) order.emplace_back(counts.first + counts.second, fmt::format("{}: {}", text, counts.first + counts.second));
    std::sort(order.rbegin(), order.rend());
    for (size_t i = 0; i < order.size() && i < worst; ++i) fmt::print("  {}\n", order[i].second);
    return all;
  }

 private:
  const SteppedProcess& process_;
  SteppedSpace& space_;
  const bool knows_all_;
  std::vector<uint8_t> copy_;
  std::map<std::string, Verdicts> by_image_;
  std::map<std::string, std::pair<uint64_t, uint64_t>> to_blame_;
};

// False: the program has ended.
bool step_through(SteppedProcess& process, SteppedSpace& space, Judge& judge, const Options& options) {
  ShadowStack shadow(process.registers().rsp);
  space.look();
  for (uint64_t i = 0; i < options.steps; ++i) {
    if (i % options.every == 0) judge.judge(shadow);
    const SteppedProcess::Step step = process.step();
    if (step.ended) return false;
    const user_regs_struct& regs = process.registers();
    if (!step.watched) shadow.begin_handler(regs.rsp, process.read_word(regs.rsp).value_or(0), step.interrupted_ip, step.interrupted_sp);
    else if (step.returned_from_handler) shadow.end_handler(regs.rsp);
    else shadow.watch(*step.watched);
    if (step.changed_mappings || !space.find_mapping(RuntimeAddr(regs.rip))) space.look();
  }
  return true;
}

bool parse(int argc, char** argv, Options& options) {
  const std::pair<std::string_view, uint64_t*> numbers[] = {{"--after=", &options.after_ms}, {"--windows=", &options.windows}, {"--gap=", &options.gap_ms},
                                                            {"--steps=", &options.steps},    {"--every=", &options.every},     {"--worst=", &options.worst},
                                                            {"--wrong=", &options.wrong_ppm}, {"--missed=", &options.missed_ppm}};
  int at = 1;
  for (; at < argc && std::string_view(argv[at]) != "--"; ++at) {
    const std::string_view word = argv[at];
    if (word.starts_with("--marker=")) {
      options.marker = word.substr(9);
      continue;
    }
    const auto* found = std::find_if(std::begin(numbers), std::end(numbers), [&](const auto& one) { return word.starts_with(one.first); });
    if (found == std::end(numbers)) return false;
    const std::string_view digits = word.substr(found->first.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *found->second);
    if (error != std::errc{} || end != digits.data() + digits.size()) return false;
  }
  options.command.assign(argv + std::min(at + 1, argc), argv + argc);
  return !options.command.empty() && options.every != 0;
}

int run(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    fmt::print(stderr, "usage: steps_oracle [--marker=FUNCTION] [--after=MS] [--windows=N] [--gap=MS] [--steps=N] [--every=N] [--worst=N] [--wrong=PPM] [--missed=PPM] -- PROGRAM ARGUMENTS…\n");
    return 2;
  }
  auto process = SteppedProcess::start(options.command);
  if (!process) {
    fmt::print(stderr, "steps_oracle: {}\n", process.error().message());
    return 1;
  }
  SteppedSpace space(*process);
  Judge judge(*process, space, options.marker.empty() && options.after_ms == 0 && options.windows == 1);
  bool goes_on = options.after_ms == 0 || process->run_for(options.after_ms * 1'000'000);
  for (uint64_t window = 0; goes_on && window < options.windows; ++window) {
    if (window != 0 && options.gap_ms != 0) goes_on = process->run_for(options.gap_ms * 1'000'000);
    if (goes_on && !options.marker.empty()) {
      space.look();
      const auto marker = space.find_symbol(options.marker);
      if (!marker) fmt::print(stderr, "steps_oracle: {}: no such function\n", options.marker);
      goes_on = marker && process->run_to(*marker);
    }
    goes_on = goes_on && step_through(*process, space, judge, options);
  }
  const Verdicts all = judge.print(options.worst);
  const auto is_more = [&](uint64_t part, uint64_t ppm) { return part * 1'000'000 > all.judged * ppm; };
  const bool is_right = all.judged != 0 && !is_more(all.wrong, options.wrong_ppm) && !is_more(all.judged - all.exact, options.missed_ppm);
  if (!is_right) fmt::print("FAILED: more than {} of a million wrong, or {} not exact\n", options.wrong_ppm, options.missed_ppm);
  return is_right ? 0 : 1;
}

}  // namespace
}  // namespace cicada::oracle

int main(int argc, char** argv) { return cicada::oracle::run(argc, argv); }
