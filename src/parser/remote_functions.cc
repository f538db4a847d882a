// SPDX-License-Identifier: Apache-2.0
#include "parser/remote_functions.h"

#include <algorithm>

namespace cicada::parser {
namespace {

constexpr size_t kMaxAnswerBytes = size_t{64} << 20;  // kMaxFunctions, and what search_functions() has of names
constexpr size_t kMaxParametersBytes = size_t{32} << 20;  // kMaxFunctionsOfParameters, each with all parameters, of the longest names
constexpr size_t kMaxReturnsBytes = size_t{32} << 20;  // each byte of kMaxCodeOfQuestion, and of a last function's, a return
// Of one question about returns: 0.15 s of work (7 MiB of code a second, measured).
constexpr uint64_t kMaxCodeOfQuestion = 1 << 20;

bool is_decodable(const symbolize::FunctionCode& function) {
  return function.bytes != 0 && function.bytes <= symbolize::kMaxCodeBytes && function.cold_bytes <= symbolize::kMaxCodeBytes;
}

}  // namespace

Result<symbolize::FunctionSearch> find_functions(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path,
                                                 std::span<const std::string> patterns, size_t limit, symbolize::CompanionFiles* companions,
                                                 const std::stop_token& stop, bool with_servers) {
  limit = std::min(limit, symbolize::kMaxFunctions);
  Question question{.kind = kFunctions, .owner = owner, .image = image, .path = path, .file = file};
  question.numbers = {image, patterns.size(), limit, with_servers ? 1U : 0U, 0};
  question.contents = to_bytes(patterns);
  question.companions = companions;
  TRY(patterns_from(question.contents, patterns.size()));
  const std::string answer = TRY(parsers.ask(question, kMaxAnswerBytes, stop));
  symbolize::FunctionSearch search = TRY(functions_from(answer, patterns.size()));
  if (search.functions.size() > limit) return make_error(ErrorKind::kCorrupt, "{} functions, {} at most", search.functions.size(), limit);
  return search;
}

Result<elf::UsdtSearch> find_usdt(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path, std::span<const std::string> patterns, size_t limit, const std::stop_token& stop) {
  limit = std::min(limit, elf::kMaxUsdtNotes);
  Question question{.kind = kUsdt, .owner = owner, .image = image, .path = path, .file = file};
  question.numbers = {0, patterns.size(), limit, 0, 0};
  question.contents = to_bytes(patterns);
  TRY(patterns_from(question.contents, patterns.size()));
  const std::string answer = TRY(parsers.ask(question, kMaxAnswerBytes, stop));
  elf::UsdtSearch search = TRY(usdt_from(answer, patterns.size()));
  if (search.probes.size() > limit) return make_error(ErrorKind::kCorrupt, "{} USDT probes, {} at most", search.probes.size(), limit);
  return search;
}

Result<void> check_instruction(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path, FileOffset function, uint64_t offset, const std::stop_token& stop) {
  Question question{.kind = kInstruction, .owner = owner, .image = image, .path = path, .file = file};
  question.numbers = {function.value, offset, 0, 0, 0};
  TRY(parsers.ask(question, 0, stop));
  return {};
}

Result<std::vector<symbolize::FunctionReturns>> find_returns(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path,
                                                             std::span<const symbolize::FunctionCode> functions, const std::stop_token& stop) {
  std::vector<symbolize::FunctionReturns> returns(functions.size(), {{}, true});
  for (size_t i = 0; i < functions.size();) {
    std::vector<symbolize::FunctionCode> asked;
    std::vector<size_t> places;  // of their answers
    for (uint64_t bytes = 0; i < functions.size() && asked.size() < kMaxFunctionsOfReturns; ++i) {
      if (!is_decodable(functions[i])) continue;
      bytes += functions[i].bytes + functions[i].cold_bytes;
      if (bytes > kMaxCodeOfQuestion && !asked.empty()) break;
      asked.push_back(functions[i]);
      places.push_back(i);
    }
    if (asked.empty()) continue;
    Question question{.kind = kReturns, .owner = owner, .image = image, .path = path, .file = file};
    question.numbers = {asked.size(), 0, 0, 0, 0};
    question.contents = to_bytes(asked);
    const std::string answer = TRY(parsers.ask(question, kMaxReturnsBytes, stop));
    std::vector<symbolize::FunctionReturns> answers = TRY(returns_from(answer, asked));
    for (size_t k = 0; k < answers.size(); ++k) returns[places[k]] = std::move(answers[k]);
  }
  return returns;
}

Result<std::vector<symbolize::FunctionParameters>> find_parameters(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path,
                                                                   std::span<const LinkAddr> functions, symbolize::CompanionFiles* companions, const std::stop_token& stop) {
  std::vector<symbolize::FunctionParameters> all;
  while (all.size() < functions.size()) {
    const auto asked = functions.subspan(all.size(), std::min(kMaxFunctionsOfParameters, functions.size() - all.size()));
    Question question{.kind = kParameters, .owner = owner, .image = image, .path = path, .file = file};
    question.numbers = {image, asked.size(), 0, 0, 0};
    question.contents = to_bytes(asked);
    question.companions = companions;
    const std::string answer = TRY(parsers.ask(question, kMaxParametersBytes, stop));
    for (symbolize::FunctionParameters& one : TRY(parameters_from(answer, asked.size()))) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace cicada::parser
