// SPDX-License-Identifier: Apache-2.0
#include "parser/remote_rows.h"

#include <algorithm>
#include <cstring>

#include "code/executable_ranges.h"
#include "sandbox/channel.h"

namespace cicada::parser {
namespace {

using unwind::CodeQuestion;
using unwind::CodeRule;

constexpr size_t kMaxRowBytes = size_t{272} << 20;  // RowLimits::max_rows, and their rules

std::string to_bytes(const std::vector<Range<LinkAddr>>& ranges) {
  static_assert(sizeof ranges[0] == 2 * sizeof(uint64_t));
  return {reinterpret_cast<const char*>(ranges.data()), ranges.size() * sizeof ranges[0]};
}

}  // namespace

Result<unwind::UnwindRows> compile_rows(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path,
                                        const std::stop_token& stop) {
  Question question{.kind = kRows, .owner = owner, .image = image, .path = path, .file = file};
  const Parsers::Answer answer = TRY(parsers.ask_for_file(question, kMaxRowBytes, stop));
  if (answer.size % sizeof(unwind::Row) != 0) return make_error(ErrorKind::kCorrupt, "unwind rows: {} bytes", answer.size);
  std::vector<unwind::Row> rows(answer.size / sizeof(unwind::Row));
  TRY(sandbox::read_file(answer.file.get(), rows.data(), answer.size));
  return unwind::UnwindRows::adopt(std::move(rows));
}

Result<std::vector<CodeRule>> read_code(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path, const CodeQuestion& asked, const std::stop_token& stop) {
  Question question{.kind = kCode, .owner = owner, .image = image, .path = path, .file = file};
  question.numbers = {asked.base.value, asked.covered_bytes, asked.code.size()};
  question.contents = to_bytes(asked.code) + to_bytes(asked.all);
  // An instruction can have a rule of its own.
  const std::string bytes = TRY(parsers.ask(question, code::total_bytes(asked.code) * sizeof(CodeRule), stop));
  return rules_from(bytes);
}

Result<std::vector<CodeRule>> rules_from(const std::string& bytes) {
  std::vector<CodeRule> rules(bytes.size() / sizeof(CodeRule));
  if (!rules.empty()) std::memcpy(rules.data(), bytes.data(), rules.size() * sizeof(CodeRule));
  uint32_t done = 0;
  for (const CodeRule& rule : rules) {
    if (rule.begin < done || rule.begin >= rule.end || !unwind::is_valid(rule.rule) || rule.rule.cfa_kind == CFA_UNSUPPORTED) return make_error(ErrorKind::kCorrupt, "rules of code that make no sense");
    done = rule.end;
  }
  return rules;
}

Result<CodeQuestion> code_question_from(const std::array<uint64_t, 5>& numbers, const std::string& bytes) {
  CodeQuestion question{numbers[1], LinkAddr(numbers[0]), {}, {}, {}};
  std::vector<Range<LinkAddr>> ranges(bytes.size() / sizeof(Range<LinkAddr>));
  if (!ranges.empty()) std::memcpy(ranges.data(), bytes.data(), ranges.size() * sizeof ranges[0]);
  const auto code_end = ranges.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(numbers[2], ranges.size()));
  question.code.assign(ranges.begin(), code_end);
  question.all.assign(code_end, ranges.end());
  for (const auto* const part : {&question.code, &question.all}) {
    LinkAddr done = question.base;
    for (const Range<LinkAddr>& range : *part) {
      if (range.begin < done || range.empty() || range.end - question.base > UINT32_MAX) return make_error(ErrorKind::kInvalid, "a question of code that makes no sense");
      done = range.end;
    }
  }
  return question;
}

}  // namespace cicada::parser
