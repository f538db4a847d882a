// SPDX-License-Identifier: Apache-2.0
#include "parser/protocol.h"

#include <algorithm>
#include <cstring>

#include "elf/usdt_operands.h"
#include "names/demangle.h"

namespace cicada::parser {
namespace {

using symbolize::FoundFunction;
using symbolize::FunctionCode;
using symbolize::FunctionReturns;
using symbolize::FunctionSearch;
using symbolize::FunctionParameter;
using symbolize::FunctionParameters;
using symbolize::NamedAddresses;
using symbolize::ParameterProblem;

struct NamesHead {
  uint64_t innermost, positions, functions, text_ends, texts;
  uint8_t could_say_more, cut_short, without_symbols;
  uint8_t reserved[5];
};

// Behind it: the functions; for each pattern how long its near names are; the names of both.
struct SearchHead {
  uint64_t matches, functions;
  uint8_t is_go, has_symbols, cut_short;
  uint8_t reserved[5];
};
struct SearchRow {
  uint64_t begin, offset, bytes, cold_offset, cold_bytes, within;
  uint32_t pattern, name_bytes;
  uint8_t indirect, changed_arguments;
  uint8_t reserved[6];
};
static_assert(sizeof(SearchHead) == 24 && sizeof(SearchRow) == 64);

struct CodeRow {
  uint64_t begin, bytes, cold_begin, cold_bytes;
};
// Of each function; behind all of them the offsets of all.
struct ReturnsRow {
  uint32_t offsets;
  uint8_t leaves_otherwise;
  uint8_t reserved[3];
};
static_assert(sizeof(CodeRow) == 32 && sizeof(ReturnsRow) == 8);

// Behind it: the probes; their arguments, one after the other; for each pattern how long its near names are; the names of both.
struct UsdtHead {
  uint64_t notes, probes, arguments;
  uint8_t cut_short;
  uint8_t reserved[7];
};
struct UsdtRow {
  uint64_t offset, semaphore;
  uint32_t pattern, name_bytes, arguments, reserved;
};
static_assert(sizeof(UsdtHead) == 32 && sizeof(UsdtRow) == 32);

// Of each function; then of each parameter of all; then their names.
struct ParametersRow {
  uint32_t parameters;
  uint8_t is_described;
  uint8_t reserved[3];
};
struct ParameterRow {
  event_field place;
  uint32_t name_bytes;
  uint8_t problem, by_convention;
  uint8_t reserved[2];
};
static_assert(sizeof(ParametersRow) == 8 && sizeof(ParameterRow) == 24);

bool is_sane(const ParameterRow& row) {
  const bool is_readable = row.problem == static_cast<uint8_t>(ParameterProblem::kNone);
  return row.problem <= static_cast<uint8_t>(ParameterProblem::kUncertain) && row.by_convention <= 1 && row.name_bytes != 0 && row.name_bytes <= symbolize::kMaxParameterNameBytes &&
         is_readable == (row.place.bytes != 0) && row.place.kind != FIELD_CONSTANT && elf::is_usdt_operand(row.place);
}

template <typename Rows>
void append(std::string& bytes, const Rows& rows) {
  bytes.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof rows[0]);
}

// Takes `count` rows off the front of `bytes`.
template <typename Rows>
bool take(std::string_view& bytes, uint64_t count, Rows& rows) {
  if (count > bytes.size() / sizeof rows[0]) return false;
  rows.resize(count);
  if (count != 0) std::memcpy(rows.data(), bytes.data(), count * sizeof rows[0]);
  bytes.remove_prefix(count * sizeof rows[0]);
  return true;
}

// `size` bytes off the front of `bytes`.
bool take_text(std::string_view& bytes, uint32_t size, std::string& text) {
  if (size > bytes.size() || size > names::kMaxNameBytes) return false;
  text = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return true;
}

// Can be a function behind `previous`: by pattern, then address.
bool is_next(const SearchRow& row, const SearchRow* previous, size_t pattern_count) {
  const bool in_order = previous == nullptr || previous->pattern < row.pattern || (previous->pattern == row.pattern && previous->begin < row.begin);
  return in_order && row.pattern < pattern_count && row.begin + row.bytes >= row.begin && row.offset + row.bytes >= row.offset &&
         row.cold_offset + row.cold_bytes >= row.cold_offset && row.offset + row.within >= row.offset && row.indirect <= 1 &&
         row.changed_arguments <= 1 && row.name_bytes != 0;
}

bool has_code_at(const FunctionCode& function, uint64_t offset) {
  return (offset >= function.begin.value && offset - function.begin.value < function.bytes) ||
         (offset >= function.cold_begin.value && offset - function.cold_begin.value < function.cold_bytes);
}

}  // namespace

std::string to_text(const symbolize::SymbolizeOptions& options) {
  std::string text;
  for (const bool flag : {options.inlines, options.lines, options.places, options.fold_clones}) text.push_back(flag ? '1' : '0');
  text.push_back(static_cast<char>('0' + static_cast<int>(options.demangle)));
  for (const std::string& directory : options.debug_dirs) (text += directory).push_back('\0');
  return text;
}

symbolize::SymbolizeOptions options_from(const std::string& text) {
  CHECK(text.size() >= 5);
  symbolize::SymbolizeOptions options;
  options.inlines = text[0] == '1';
  options.lines = text[1] == '1';
  options.places = text[2] == '1';
  options.fold_clones = text[3] == '1';
  options.demangle = static_cast<symbolize::Demangle>(text[4] - '0');
  options.debug_dirs.clear();
  for (size_t at = 5; at < text.size();) {
    const size_t end = text.find('\0', at);
    options.debug_dirs.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? end : end + 1;
  }
  return options;
}

std::string to_bytes(const NamedAddresses& names) {
  const NamesHead head{names.innermost.size(), names.positions.size(), names.functions.size(),  names.text_ends.size(), names.texts.size(),
                       names.could_say_more, names.cut_short,        names.without_symbols, {}};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  append(bytes, names.innermost);
  append(bytes, names.positions);
  append(bytes, names.functions);
  append(bytes, names.text_ends);
  return bytes += names.texts;
}

Result<NamedAddresses> names_from(const std::string& bytes, size_t addresses) {
  NamesHead head;
  NamedAddresses names;
  const auto corrupt = [] { return make_error(ErrorKind::kCorrupt, "names of addresses: sizes that do not add up"); };
  if (bytes.size() < sizeof head) return corrupt();
  std::memcpy(&head, bytes.data(), sizeof head);
  std::string_view rest = std::string_view(bytes).substr(sizeof head);
  if (!take(rest, head.innermost, names.innermost) || !take(rest, head.positions, names.positions) || !take(rest, head.functions, names.functions) ||
      !take(rest, head.text_ends, names.text_ends) || !take(rest, head.texts, names.texts) || !rest.empty())
    return corrupt();
  names.could_say_more = head.could_say_more != 0;
  names.cut_short = head.cut_short != 0;
  names.without_symbols = head.without_symbols != 0;
  TRY(names.check(addresses));
  return names;
}

std::string to_bytes(std::span<const std::string> patterns) {
  std::string bytes;
  for (const std::string& pattern : patterns) {
    const auto size = static_cast<uint32_t>(pattern.size());
    bytes.append(reinterpret_cast<const char*>(&size), sizeof size).append(pattern);
  }
  return bytes;
}

Result<std::vector<std::string>> patterns_from(const std::string& bytes, size_t count) {
  if (count > symbolize::kMaxPatterns) return make_error(ErrorKind::kInvalid, "{} patterns", count);
  std::vector<std::string> patterns(count);
  std::string_view rest = bytes;
  for (std::string& pattern : patterns) {
    uint32_t size = 0;
    if (rest.size() < sizeof size) return make_error(ErrorKind::kInvalid, "patterns are cut off");
    std::memcpy(&size, rest.data(), sizeof size);
    rest.remove_prefix(sizeof size);
    if (size > symbolize::kMaxPatternBytes || !take_text(rest, size, pattern)) return make_error(ErrorKind::kInvalid, "a pattern of {} bytes", size);
  }
  if (!rest.empty()) return make_error(ErrorKind::kInvalid, "{} bytes behind the patterns", rest.size());
  return patterns;
}

std::string to_bytes(const FunctionSearch& search) {
  const SearchHead head{search.matches, search.functions.size(), search.is_go, search.has_symbols, search.cut_short, {}};
  std::vector<SearchRow> rows;
  std::vector<uint32_t> near_bytes;
  std::string texts;
  for (const FoundFunction& found : search.functions) {
    rows.push_back({found.begin.value, found.code.begin.value, found.code.bytes, found.code.cold_begin.value, found.code.cold_bytes, found.within, found.pattern, static_cast<uint32_t>(found.name.size()), found.indirect,
                    found.changed_arguments, {}});
    texts += found.name;
  }
  for (const std::string& near : search.near) {
    near_bytes.push_back(static_cast<uint32_t>(near.size()));
    texts += near;
  }
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  append(bytes, rows);
  append(bytes, near_bytes);
  return bytes += texts;
}

Result<FunctionSearch> functions_from(const std::string& bytes, size_t pattern_count) {
  const auto corrupt = [] { return make_error(ErrorKind::kCorrupt, "functions of an image: an answer that makes no sense"); };
  SearchHead head;
  if (bytes.size() < sizeof head) return corrupt();
  std::memcpy(&head, bytes.data(), sizeof head);
  std::string_view rest = std::string_view(bytes).substr(sizeof head);
  std::vector<SearchRow> rows;
  std::vector<uint32_t> near_bytes;
  if (head.matches < head.functions || head.is_go > 1 || head.has_symbols > 1 || head.cut_short > 1 || !take(rest, head.functions, rows) ||
      !take(rest, pattern_count, near_bytes))
    return corrupt();
  FunctionSearch search;
  search.matches = head.matches;
  search.is_go = head.is_go != 0;
  search.has_symbols = head.has_symbols != 0;
  search.cut_short = head.cut_short != 0;
  const SearchRow* previous = nullptr;
  for (const SearchRow& row : rows) {
    FoundFunction found{row.pattern, LinkAddr(row.begin), {FileOffset(row.offset), row.bytes, FileOffset(row.cold_offset), row.cold_bytes}, row.within, row.indirect != 0, row.changed_arguments != 0, {}};
    if (!is_next(row, previous, pattern_count) || !take_text(rest, row.name_bytes, found.name)) return corrupt();
    search.functions.push_back(std::move(found));
    previous = &row;
  }
  search.near.resize(pattern_count);
  for (size_t i = 0; i < pattern_count; ++i) {
    if (!take_text(rest, near_bytes[i], search.near[i])) return corrupt();
  }
  if (!rest.empty()) return corrupt();
  return search;
}

std::string to_bytes(std::span<const FunctionCode> functions) {
  std::vector<CodeRow> rows;
  for (const FunctionCode& function : functions) rows.push_back({function.begin.value, function.bytes, function.cold_begin.value, function.cold_bytes});
  std::string bytes;
  append(bytes, rows);
  return bytes;
}

Result<std::vector<FunctionCode>> function_codes_from(const std::string& bytes, size_t count) {
  if (count > kMaxFunctionsOfReturns) return make_error(ErrorKind::kInvalid, "{} functions", count);
  std::vector<CodeRow> rows;
  std::string_view rest = bytes;
  if (!take(rest, count, rows) || !rest.empty()) return make_error(ErrorKind::kInvalid, "{} bytes for {} functions", bytes.size(), count);
  std::vector<FunctionCode> functions;
  for (const CodeRow& row : rows) functions.push_back({FileOffset(row.begin), row.bytes, FileOffset(row.cold_begin), row.cold_bytes});
  return functions;
}

std::string to_bytes(std::span<const FunctionReturns> returns) {
  std::vector<ReturnsRow> rows;
  std::vector<uint64_t> offsets;
  for (const FunctionReturns& function : returns) {
    rows.push_back({static_cast<uint32_t>(function.offsets.size()), function.leaves_otherwise, {}});
    for (const FileOffset offset : function.offsets) offsets.push_back(offset.value);
  }
  std::string bytes;
  append(bytes, rows);
  append(bytes, offsets);
  return bytes;
}

Result<std::vector<FunctionReturns>> returns_from(const std::string& bytes, std::span<const FunctionCode> functions) {
  const auto corrupt = [] { return make_error(ErrorKind::kCorrupt, "where functions return: an answer that makes no sense"); };
  std::vector<ReturnsRow> rows;
  std::string_view rest = bytes;
  if (!take(rest, functions.size(), rows)) return corrupt();
  std::vector<FunctionReturns> returns(functions.size());
  for (size_t i = 0; i < functions.size(); ++i) {
    std::vector<uint64_t> offsets;
    if (rows[i].leaves_otherwise > 1 || rows[i].offsets > symbolize::kMaxReturns || !take(rest, rows[i].offsets, offsets)) return corrupt();
    returns[i].leaves_otherwise = rows[i].leaves_otherwise != 0;
    for (const uint64_t offset : offsets) {
      const bool in_order = returns[i].offsets.empty() || returns[i].offsets.back().value < offset;
      if (!in_order || !has_code_at(functions[i], offset)) return corrupt();
      returns[i].offsets.emplace_back(offset);
    }
  }
  if (!rest.empty()) return corrupt();
  return returns;
}

std::string to_bytes(const elf::UsdtSearch& search) {
  std::vector<UsdtRow> rows;
  std::vector<event_field> arguments;
  std::vector<uint32_t> near_bytes;
  std::string texts;
  for (const elf::FoundUsdt& found : search.probes) {
    rows.push_back({found.offset.value, found.semaphore.value, found.pattern, static_cast<uint32_t>(found.name.size()), static_cast<uint32_t>(found.arguments.size()), 0});
    arguments.insert(arguments.end(), found.arguments.begin(), found.arguments.end());
    texts += found.name;
  }
  for (const std::string& near : search.near) {
    near_bytes.push_back(static_cast<uint32_t>(near.size()));
    texts += near;
  }
  const UsdtHead head{search.notes, rows.size(), arguments.size(), search.cut_short, {}};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  append(bytes, rows);
  append(bytes, arguments);
  append(bytes, near_bytes);
  return bytes += texts;
}

Result<elf::UsdtSearch> usdt_from(const std::string& bytes, size_t pattern_count) {
  const auto corrupt = [] { return make_error(ErrorKind::kCorrupt, "USDT probes of an image: an answer that makes no sense"); };
  UsdtHead head;
  if (bytes.size() < sizeof head) return corrupt();
  std::memcpy(&head, bytes.data(), sizeof head);
  std::string_view rest = std::string_view(bytes).substr(sizeof head);
  std::vector<UsdtRow> rows;
  std::vector<event_field> arguments;
  std::vector<uint32_t> near_bytes;
  if (head.notes > elf::kMaxUsdtNotes || head.cut_short > 1 || !take(rest, head.probes, rows) || !take(rest, head.arguments, arguments) || !take(rest, pattern_count, near_bytes) ||
      !std::ranges::all_of(arguments, elf::is_usdt_operand))
    return corrupt();
  elf::UsdtSearch search;
  search.notes = head.notes;
  search.cut_short = head.cut_short != 0;
  uint32_t pattern = 0;
  std::span<const event_field> left = arguments;
  for (const UsdtRow& row : rows) {
    elf::FoundUsdt found{row.pattern, FileOffset(row.offset), FileOffset(row.semaphore), {}, {}};
    if (row.pattern < pattern || row.pattern >= pattern_count || row.arguments > std::min(elf::kMaxUsdtArguments, left.size()) || row.name_bytes == 0 ||
        !take_text(rest, row.name_bytes, found.name))
      return corrupt();
    pattern = row.pattern;
    found.arguments.assign(left.begin(), left.begin() + row.arguments);
    left = left.subspan(row.arguments);
    search.probes.push_back(std::move(found));
  }
  search.near.resize(pattern_count);
  for (size_t i = 0; i < pattern_count; ++i) {
    if (!take_text(rest, near_bytes[i], search.near[i])) return corrupt();
  }
  if (!rest.empty() || !left.empty()) return corrupt();
  return search;
}

std::string to_bytes(std::span<const LinkAddr> functions) {
  std::string bytes;
  append(bytes, functions);
  return bytes;
}

Result<std::vector<LinkAddr>> addresses_from(const std::string& bytes, size_t count) {
  std::vector<LinkAddr> addresses;
  std::string_view rest = bytes;
  if (count > kMaxFunctionsOfParameters || !take(rest, count, addresses) || !rest.empty()) return make_error(ErrorKind::kInvalid, "{} bytes for {} functions", bytes.size(), count);
  return addresses;
}

std::string to_bytes(std::span<const FunctionParameters> functions) {
  std::vector<ParametersRow> rows;
  std::vector<ParameterRow> parameters;
  std::string names;
  for (const FunctionParameters& function : functions) {
    rows.push_back({static_cast<uint32_t>(function.parameters.size()), function.is_described, {}});
    for (const FunctionParameter& one : function.parameters) {
      parameters.push_back({one.place, static_cast<uint32_t>(one.name.size()), static_cast<uint8_t>(one.problem), one.by_convention, {}});
      names += one.name;
    }
  }
  std::string bytes;
  append(bytes, rows);
  append(bytes, parameters);
  return bytes += names;
}

Result<std::vector<FunctionParameters>> parameters_from(const std::string& bytes, size_t count) {
  const auto corrupt = [] { return make_error(ErrorKind::kCorrupt, "parameters of functions: an answer that makes no sense"); };
  std::vector<ParametersRow> rows;
  std::string_view rest = bytes;
  if (!take(rest, count, rows)) return corrupt();
  uint64_t sum = 0;
  for (const ParametersRow& row : rows) {
    if (row.is_described > 1 || row.parameters > symbolize::kMaxParameters || (row.is_described == 0 && row.parameters != 0)) return corrupt();
    sum += row.parameters;
  }
  std::vector<ParameterRow> parameters;
  if (!take(rest, sum, parameters) || !std::ranges::all_of(parameters, is_sane)) return corrupt();
  std::vector<FunctionParameters> functions;
  auto next = parameters.begin();
  for (const ParametersRow& row : rows) {
    FunctionParameters& function = functions.emplace_back();
    function.is_described = row.is_described != 0;
    for (uint32_t i = 0; i < row.parameters; ++i, ++next) {
      FunctionParameter& one = function.parameters.emplace_back();
      if (!take_text(rest, next->name_bytes, one.name)) return corrupt();
      one.place = next->place;
      one.problem = static_cast<ParameterProblem>(next->problem);
      one.by_convention = next->by_convention != 0;
    }
  }
  if (!rest.empty()) return corrupt();
  return functions;
}

sandbox::Message to_message(const Error& error) {
  sandbox::Message message;
  message.kind = kFailed;
  message.numbers[0] = static_cast<uint64_t>(error.kind());
  message.text = error.message();
  return message;
}

Error error_from(const sandbox::Message& message) {
  const auto kind = static_cast<ErrorKind>(std::min<uint64_t>(message.numbers[0], static_cast<uint64_t>(ErrorKind::kIo)));
  return Error(kind, message.text);
}

}  // namespace cicada::parser
