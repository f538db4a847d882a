// SPDX-License-Identifier: Apache-2.0
#include "parser/remote_functions.h"

#include <algorithm>

namespace cicada::parser {
namespace {

constexpr size_t kMaxAnswerBytes = size_t{64} << 20;  // kMaxFunctions, and what search_functions() has of names

}  // namespace

Result<symbolize::FunctionSearch> find_functions(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path,
                                                 std::span<const std::string> patterns, size_t limit, symbolize::CompanionFiles* companions,
                                                 const std::stop_token& stop, bool with_servers) {
  limit = std::min(limit, symbolize::kMaxFunctions);
  Question question;
  question.kind = kFunctions;
  question.owner = owner;
  question.image = image;
  question.path = path;
  question.file = file;
  question.numbers = {image, patterns.size(), limit, with_servers ? 1U : 0U, 0};
  question.contents = to_bytes(patterns);
  question.companions = companions;
  TRY(patterns_from(question.contents, patterns.size()));
  const std::string answer = TRY(parsers.ask(question, kMaxAnswerBytes, stop));
  symbolize::FunctionSearch search = TRY(functions_from(answer, patterns.size()));
  if (search.functions.size() > limit) return make_error(ErrorKind::kCorrupt, "{} functions, {} at most", search.functions.size(), limit);
  return search;
}

Result<void> check_instruction(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path, FileOffset function, uint64_t offset, const std::stop_token& stop) {
  Question question;
  question.kind = kInstruction;
  question.owner = owner;
  question.image = image;
  question.path = path;
  question.file = file;
  question.numbers = {function.value, offset, 0, 0, 0};
  TRY(parsers.ask(question, 0, stop));
  return {};
}

}  // namespace cicada::parser
