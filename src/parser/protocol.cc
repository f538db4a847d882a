// SPDX-License-Identifier: Apache-2.0
#include "parser/protocol.h"

#include <algorithm>
#include <cstring>

namespace cicada::parser {
namespace {

using symbolize::NamedAddresses;

struct NamesHead {
  uint64_t innermost, positions, functions, text_ends, texts;
  uint8_t could_say_more, cut_short, without_symbols;
  uint8_t reserved[5];
};

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
