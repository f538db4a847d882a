// SPDX-License-Identifier: Apache-2.0
// module: parser
// What a parser that was taken over may say to the collector: any messages, and any bytes in its job file. Refused, or what comes out can
// be used.
//
// Input: the kind of question; up to eight messages (kind, a number, the length of a text, the text); what is left is the job file.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/diagnostics.h"
#include "elf/usdt_operands.h"
#include "names/demangle.h"
#include "parser/remote_functions.h"
#include "parser/remote_rows.h"
#include "parser/remote_step.h"
#include "symbolize/named_addresses.h"
#include "unwind/rows/table_layout.h"

namespace {

using namespace cicada;
using parser::Parsers;
using sandbox::Channel;
using sandbox::Message;

constexpr size_t kAddresses = 8, kPatterns = 3;

// A socket in which the answers lie before the question comes.
Parsers::Start told(const std::vector<Message>& messages) {
  return [&messages](uint32_t) -> Result<sandbox::Zygote::Child> {
    auto [ours, theirs] = TRY(Channel::make_pair());
    Channel other(std::move(theirs));
    for (const Message& message : messages) static_cast<void>(other.send_now(message));
    return sandbox::Zygote::Child{Channel(std::move(ours)), UniqueFd(), ::getpid()};
  };
}

// Of the questions only steps bring what the process has on its stack; the other job files are empty until they are answered.
void ask_for_steps(Parsers& parsers, int file, Bytes job) {
  const unwind::CopiedStack stack(job, 0x7ff000000000, ~uint64_t{0});
  const unwind::StepQuestion question{unwind::StepBy::kCallFrameInformation, LinkAddr(0x1000), &stack, {}};
  const std::vector<unwind::StepQuestion> asked(3, question);
  const auto steps = parser::take_steps(parsers, 1000, 1, file, "/fuzz/image", asked);
  if (steps) CHECK(steps->size() == asked.size() && (*steps)[0].outcome <= dwarf::FrameStep::kUnreadable);
}

void use_rows(const std::string& bytes) {
  std::vector<unwind::Row> rows(bytes.size() / sizeof(unwind::Row));
  if (!rows.empty()) std::memcpy(rows.data(), bytes.data(), rows.size() * sizeof(unwind::Row));
  const auto adopted = unwind::UnwindRows::adopt(std::move(rows));
  if (!adopted) return;
  for (const unwind::Row& row : adopted->rows()) adopted->find(adopted->base() + row.begin);
}

void use_names(const std::string& bytes) {
  if (const auto names = parser::names_from(bytes, kAddresses)) CHECK(parser::names_from(parser::to_bytes(*names), kAddresses));
}

void use_functions(const std::string& bytes) {
  const auto search = parser::functions_from(bytes, kPatterns);
  if (!search) return;
  CHECK(search->near.size() == kPatterns && search->functions.size() <= search->matches);
  for (const symbolize::FoundFunction& found : search->functions) {
    CHECK(found.pattern < kPatterns && !found.name.empty() && found.name.size() <= names::kMaxNameBytes && found.begin + found.code.bytes >= found.begin);
  }
  CHECK(parser::functions_from(parser::to_bytes(*search), kPatterns));
}

void use_usdt(const std::string& bytes) {
  const auto search = parser::usdt_from(bytes, kPatterns);
  if (!search) return;
  CHECK(search->near.size() == kPatterns);
  for (const elf::FoundUsdt& found : search->probes) {
    CHECK(found.pattern < kPatterns && !found.name.empty() && found.arguments.size() <= elf::kMaxUsdtArguments && std::ranges::all_of(found.arguments, elf::is_usdt_operand));
  }
  CHECK(parser::usdt_from(parser::to_bytes(*search), kPatterns));
}

void use_parameters(const std::string& bytes) {
  const auto functions = parser::parameters_from(bytes, kPatterns);
  if (!functions) return;
  CHECK(functions->size() == kPatterns);
  for (const symbolize::FunctionParameters& function : *functions) {
    CHECK(function.parameters.size() <= symbolize::kMaxParameters);
    for (const symbolize::FunctionParameter& one : function.parameters) {
      CHECK(!one.name.empty() && one.name.size() <= symbolize::kMaxParameterNameBytes && elf::is_usdt_operand(one.place));
      CHECK((one.place.bytes != 0) == (one.problem == symbolize::ParameterProblem::kNone));
    }
  }
  CHECK(parser::parameters_from(parser::to_bytes(*functions), kPatterns));
}

void ask_for_functions(Parsers& parsers, int file) {
  const std::vector<std::string> patterns(kPatterns, "f*");
  static_cast<void>(parser::find_functions(parsers, 1000, 1, file, "/fuzz/image", patterns, 10, nullptr));
}

void use_rules(const std::string& bytes) {
  const auto rules = parser::rules_from(bytes);
  if (!rules) return;
  for (const unwind::CodeRule& rule : *rules) CHECK(rule.begin < rule.end && !unwind::is_unread(rule.rule));
  unwind::CodeQuestion question;
  question.pieces = {{LinkAddr(0x100), LinkAddr(0x1000)}};
  unwind::with_code(unwind::UnwindRows(), question, *rules);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool quiet = (diagnostics().set_handler([](Severity, const std::string&) {}), true);
  static const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  if (!quiet || size < 2) return 0;
  ByteCursor cursor(Bytes(data, size));
  const uint8_t which = cursor.u8() % 9;
  std::vector<Message> messages;
  for (unsigned count = cursor.u8() % 9; messages.size() < count && !cursor.failed();) {
    Message message;
    message.kind = cursor.u8() % 12;
    message.numbers[0] = cursor.u64();
    const Bytes text = cursor.take(std::min<size_t>(cursor.u16(), Message::kMaxText));
    message.text.assign(reinterpret_cast<const char*>(text.data()), text.size());
    messages.push_back(std::move(message));
  }
  const Bytes job = cursor.failed() ? Bytes() : cursor.take(cursor.remaining());
  const std::string bytes(reinterpret_cast<const char*>(job.data()), job.size());
  Parsers parsers(told(messages), {}, 1);
  if (which == 0) ask_for_steps(parsers, file.get(), job.first(std::min<size_t>(job.size(), 64 << 10)));
  if (which == 1) static_cast<void>(parser::compile_rows(parsers, 1000, 1, file.get(), "/fuzz/image"));
  if (which == 2) use_rows(bytes);
  if (which == 3) use_names(bytes);
  if (which == 4) use_functions(bytes);
  if (which == 5) ask_for_functions(parsers, file.get());
  if (which == 6) use_usdt(bytes);
  if (which == 7) use_parameters(bytes);
  if (which == 8) use_rules(bytes);
  return 0;
}
