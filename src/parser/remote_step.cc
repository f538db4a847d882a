// SPDX-License-Identifier: Apache-2.0
#include "parser/remote_step.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "abi/arch.h"

namespace cicada::parser {
namespace {

using dwarf::FrameStep;
using unwind::CopiedStack;
using unwind::ImageStep;
using unwind::StepBy;
using unwind::StepQuestion;

constexpr size_t kMaxBytes = 64 << 20;  // far more than is ever asked together
// A step nearly always looks at its own frame only: so much of the stack goes along first, and all of it if that was not enough. Whole
// copies cost a millisecond each, in fresh pages on both sides.
constexpr size_t kNear = 4096, kBelow = 256;

// Behind it: the copied stack.
struct Asked {
  uint64_t by, address, begin, pages, known, stack_bytes;
  std::array<uint64_t, dwarf::kRegisterCount> registers;
};
struct Answer {
  uint64_t outcome, exact_ip, assumed, known;
  std::array<uint64_t, dwarf::kRegisterCount> registers;
};

std::string to_bytes(std::span<const StepQuestion> questions) {
  std::string bytes;
  for (const StepQuestion& question : questions) {
    const Bytes stack = question.stack->bytes();
    const Asked asked{static_cast<uint64_t>(question.by), question.address.value, question.stack->begin(), question.stack->pages(),
                      question.registers.known,           stack.size(),           question.registers.value};
    bytes.append(reinterpret_cast<const char*>(&asked), sizeof asked);
    bytes.append(reinterpret_cast<const char*>(stack.data()), stack.size());
  }
  return bytes;
}

Result<ImageStep> step_from(const char* bytes) {
  Answer answer{};
  std::memcpy(&answer, bytes, sizeof answer);
  if (answer.outcome > static_cast<uint64_t>(FrameStep::kUnreadable)) return make_error(ErrorKind::kCorrupt, "a step of an unknown kind");
  return ImageStep{static_cast<FrameStep>(answer.outcome),
                   answer.exact_ip != 0,
                   answer.assumed != 0,
                   {answer.registers, static_cast<uint32_t>(answer.known)}};
}

Result<std::vector<ImageStep>> ask(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path,
                                   std::span<const StepQuestion> asked, const std::stop_token& stop) {
  Question question{.kind = kSteps, .owner = owner, .image = image, .path = path, .file = file};
  question.numbers = {image};
  question.contents = to_bytes(asked);
  const std::string bytes = TRY(parsers.ask(question, asked.size() * sizeof(Answer), stop));
  if (bytes.size() != asked.size() * sizeof(Answer))
    return make_error(ErrorKind::kCorrupt, "{} steps of {} bytes", asked.size(), bytes.size());
  std::vector<ImageStep> steps;
  for (size_t i = 0; i < asked.size(); ++i) steps.push_back(TRY(step_from(bytes.data() + i * sizeof(Answer))));
  return steps;
}

CopiedStack near_of(const StepQuestion& question) {
  const uint64_t top = question.registers.value[ARCH_SP];
  const uint64_t below = std::max(question.stack->begin(), top - std::min<uint64_t>(top, kBelow));
  return question.stack->part(question.stack->find_word(below) ? below : top, kNear);  // the page below it may be missing
}

}  // namespace

Result<std::vector<ImageStep>> take_steps(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path,
                                          std::span<const StepQuestion> asked, const std::stop_token& stop) {
  std::vector<CopiedStack> parts;
  for (const StepQuestion& question : asked) parts.push_back(near_of(question));
  std::vector<StepQuestion> questions(asked.begin(), asked.end());
  for (size_t i = 0; i < asked.size(); ++i) questions[i].stack = &parts[i];
  std::vector<ImageStep> steps = TRY(ask(parsers, owner, image, file, path, questions, stop));
  std::vector<size_t> again;
  questions.clear();
  for (size_t i = 0; i < asked.size(); ++i) {
    if (steps[i].outcome != FrameStep::kUnreadable || parts[i].bytes().size() == asked[i].stack->bytes().size()) continue;
    again.push_back(i);
    questions.push_back(asked[i]);
  }
  if (again.empty()) return steps;
  const std::vector<ImageStep> whole = TRY(ask(parsers, owner, image, file, path, questions, stop));
  for (size_t i = 0; i < again.size(); ++i) steps[again[i]] = whole[i];
  return steps;
}

Result<size_t> answer_steps(const unwind::ImageSteps& image, int job) {
  struct stat st {};
  if (::fstat(job, &st) != 0) return errno_error(errno, "stat a question");
  const auto size = static_cast<size_t>(st.st_size);
  if (size > kMaxBytes) return make_error(ErrorKind::kInvalid, "a question of {} bytes", size);
  std::vector<uint8_t> bytes(size);
  TRY(sandbox::read_file(job, bytes.data(), size));
  std::vector<Answer> answers;
  for (Bytes rest(bytes); !rest.empty();) {
    Asked asked;
    if (rest.size() < sizeof asked) return make_error(ErrorKind::kInvalid, "a question is cut off");
    std::memcpy(&asked, rest.data(), sizeof asked);
    rest = rest.subspan(sizeof asked);
    if (asked.stack_bytes > rest.size() || asked.by > static_cast<uint64_t>(StepBy::kHandlerReturn))
      return make_error(ErrorKind::kInvalid, "a question that makes no sense");
    const CopiedStack stack(rest.first(asked.stack_bytes), asked.begin, asked.pages);
    rest = rest.subspan(asked.stack_bytes);
    const ImageStep step = image.take(StepQuestion{
        static_cast<StepBy>(asked.by), LinkAddr(asked.address), &stack, {asked.registers, static_cast<uint32_t>(asked.known)}});
    answers.push_back({static_cast<uint64_t>(step.outcome), step.exact_ip, step.assumed, step.registers.known, step.registers.value});
  }
  TRY(sandbox::write_file(job, answers.data(), answers.size() * sizeof(Answer)));
  return answers.size() * sizeof(Answer);
}

}  // namespace cicada::parser
