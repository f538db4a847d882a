// SPDX-License-Identifier: Apache-2.0
#include "unwind/heuristics/go_code.h"

#include "code/stack_flow.h"

namespace cicada::unwind {
namespace {

constexpr uint64_t kMaxSteps = 2 << 20;  // as many as 170 MB of code have; tables are shared, a hostile one could be asked for by all functions
constexpr uint64_t kMaxFrameBytes = 1 << 28;
constexpr uint64_t kMaxFollowed = 1 << 16;  // instructions of functions that write the stack pointer, all together: a program has about a thousand
constexpr uint64_t kMaxNameBytes = 1024;  // a longer name is none of those that are looked for

unwind_rule outermost() {
  unwind_rule rule{};
  rule.cfa_kind = CFA_OUTERMOST;
  return rule;
}

// Nothing that the walk may look for is behind it. sigtramp is the first frame on its stack, but what was interrupted is behind it.
bool is_outermost(const elf::GoFunctions& functions, const elf::GoFunction& function) {
  return (function.flags & elf::GoFunction::kTopFrame) != 0 && functions.name(function, kMaxNameBytes).find("igtramp") == std::string_view::npos;
}

// mcall leaves a goroutine for the scheduler, gogo comes from there: what rbp still points to is another's, and may run elsewhere by now. Other functions that
// write the stack pointer (systemstack, asmcgocall) come back to whom rbp points to.
bool leaves_goroutine(std::string_view name) { return name.starts_with("runtime.mcall") || name.starts_with("gogo") || name.starts_with("runtime.gogo"); }

}  // namespace

std::vector<CodeRule> find_go_rules(const elf::GoFunctions& functions, LinkAddr base, const std::function<Bytes(LinkAddr)>& code_at) {
  std::vector<CodeRule> rules;
  if (functions.text() < base || functions.text() - base > 0xffffffff) return rules;
  const uint64_t text = functions.text() - base;
  const auto append = [&](uint64_t begin, uint64_t end, const unwind_rule& rule) {
    if (begin < end && text + end <= 0xffffffff) rules.push_back({static_cast<uint32_t>(text + begin), static_cast<uint32_t>(text + end), rule});
  };
  const code::NeverReturning never;
  code::StackFlow flow;
  uint64_t count = 0, may_follow = kMaxFollowed;
  // As far as its instructions tell. What is behind that is left to frame pointers, or has no caller, as all of a function that leaves its stack has from there on.
  const auto follow = [&](const elf::GoFunction& function) {
    const bool leaves = leaves_goroutine(functions.name(function, kMaxNameBytes));
    uint64_t done = function.begin;
    if (flow.follow({.code = code_at(functions.text() + function.begin), .size = function.end - function.begin, .size_known = true, .state = {}}, function.begin, never, may_follow)) {
      for (const code::StackRange& range : flow.ranges()) {
        if (leaves && range.state.stack == code::StackState::kUnknown) continue;
        if (leaves) append(done, function.begin + range.begin, outermost());
        append(function.begin + range.begin, function.begin + range.end, range.state.to_rule());
        done = function.begin + range.end;
      }
    }
    if (leaves) append(done, function.end, outermost());
  };
  functions.for_each([&](const elf::GoFunction& function) {
    if (is_outermost(functions, function)) append(function.begin, function.end, outermost());
    else if ((function.flags & elf::GoFunction::kWritesStackPointer) != 0) follow(function);
    else if (function.steps != 0) {
      ByteCursor steps = functions.steps(function);
      uint64_t depth = ~uint64_t{0};  // -1; what is negative is too large
      for (uint64_t pc = function.begin; pc < function.end;) {
        const uint64_t difference = steps.uleb128();
        if (steps.failed() || (difference == 0 && pc != function.begin) || ++count > kMaxSteps) break;
        depth += difference >> 1 ^ (0 - (difference & 1));
        const uint64_t next = pc + steps.uleb128();
        if (steps.failed() || next <= pc || next > function.end || depth > kMaxFrameBytes || depth % 8 != 0) break;
        // A frame begins with the caller's frame pointer.
        append(pc, next, stack_pointer_plus(static_cast<int32_t>(depth) + 8, depth == 0 ? 0 : -2));
        pc = next;
      }
    }
    return count <= kMaxSteps;
  });
  return rules;
}

}  // namespace cicada::unwind
