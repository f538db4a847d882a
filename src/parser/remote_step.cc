// SPDX-License-Identifier: Apache-2.0
#include "parser/remote_step.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace cicada::parser {
namespace {

using dwarf::FrameStep;
using unwind::ImageStep;
using unwind::StepBy;
using unwind::StepQuestion;

constexpr size_t kMaxStackBytes = 1 << 20;  // far more than is ever copied

// Behind it: the copied stack.
struct QuestionHead {
  uint64_t begin, pages, known;
  std::array<uint64_t, dwarf::kRegisterCount> registers;
};
struct Answer {
  uint64_t outcome, exact_ip, assumed, known;
  std::array<uint64_t, dwarf::kRegisterCount> registers;
};

}  // namespace

Result<ImageStep> take_step(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path, const StepQuestion& asked,
                            const std::stop_token& stop) {
  Question question;
  question.kind = kStep;
  question.owner = owner;
  question.image = image;
  question.path = path;
  question.file = file;
  question.numbers = {image, static_cast<uint64_t>(asked.by), asked.address.value};
  const QuestionHead head{asked.stack.begin(), asked.stack.pages(), asked.registers.known, asked.registers.value};
  const Bytes stack = asked.stack.bytes();
  question.contents.reserve(sizeof head + stack.size());
  question.contents.assign(reinterpret_cast<const char*>(&head), sizeof head);
  question.contents.append(reinterpret_cast<const char*>(stack.data()), stack.size());
  const std::string bytes = TRY(parsers.ask(question, sizeof(Answer), stop));
  Answer answer{};
  if (bytes.size() != sizeof answer) return make_error(ErrorKind::kCorrupt, "a step of {} bytes", bytes.size());
  std::memcpy(&answer, bytes.data(), sizeof answer);
  if (answer.outcome > static_cast<uint64_t>(FrameStep::kUnreadable)) return make_error(ErrorKind::kCorrupt, "a step of an unknown kind");
  return ImageStep{static_cast<FrameStep>(answer.outcome),
                   answer.exact_ip != 0,
                   answer.assumed != 0,
                   {answer.registers, static_cast<uint32_t>(answer.known)}};
}

Result<size_t> answer_step(const unwind::ImageSteps& image, StepBy by, LinkAddr address, int job) {
  struct stat st {};
  if (::fstat(job, &st) != 0) return errno_error(errno, "stat a question");
  const auto size = static_cast<size_t>(st.st_size);
  if (size < sizeof(QuestionHead) || size > sizeof(QuestionHead) + kMaxStackBytes)
    return make_error(ErrorKind::kInvalid, "a question of {} bytes", size);
  std::vector<uint8_t> bytes(size);
  TRY(sandbox::read_file(job, bytes.data(), size));
  QuestionHead head;
  std::memcpy(&head, bytes.data(), sizeof head);
  const unwind::CopiedStack stack(Bytes(bytes).subspan(sizeof head), head.begin, head.pages);
  const ImageStep step = image.take({by, address, stack, {head.registers, static_cast<uint32_t>(head.known)}});
  const Answer answer{static_cast<uint64_t>(step.outcome), step.exact_ip, step.assumed, step.registers.known, step.registers.value};
  TRY(sandbox::write_file(job, &answer, sizeof answer));
  return sizeof answer;
}

}  // namespace cicada::parser
