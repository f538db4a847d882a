// SPDX-License-Identifier: Apache-2.0
#include "cli/table_names.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/clean_text.h"
#include "sink/flamegraph/svg_text.h"

namespace cicada::cli {
namespace {

constexpr size_t kLeastRest = 9;  // columns, for what tells a name from others
constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

size_t common_prefix(std::string_view a, std::string_view b) { return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin()); }

// The end of a text: of a C++ name the part that says most.
std::string end_of(std::string_view text, size_t columns) {
  const size_t size = count_letters(text);
  if (size <= columns) return std::string(text);
  for (size_t left_out = size - columns + 1; left_out > 0; --left_out) {
    do text.remove_prefix(1);
    while (!text.empty() && (static_cast<uint8_t>(text[0]) & 0xc0) == 0x80);
  }
  return std::string(kEllipsis).append(text);
}

// The whole name, or the short one and then what tells it from others, from the word on in which it differs.
std::string told_apart(const std::string& name, const std::string& short_name, size_t differs, size_t columns) {
  if (count_letters(name) <= columns) return name;
  size_t begin = differs == 0 ? 0 : name.find_last_of("<,(: ", differs - 1) + 1;  // 0: there is no such word
  if (begin == 0) begin = differs;
  while (begin != 0 && (static_cast<uint8_t>(name[begin]) & 0xc0) == 0x80) --begin;
  if (short_name == name && begin < columns / 2) return sink::shortened(name, columns);
  std::string text = count_letters(short_name) + kLeastRest <= columns ? short_name : end_of(short_name, columns / 2);
  if (short_name == name) text = sink::shortened(name, columns / 2);
  if (!text.ends_with(kEllipsis)) text += kEllipsis;
  return text + sink::shortened(std::string_view(name).substr(begin), columns - count_letters(text));
}

}  // namespace

bool matches_function(std::string_view name, std::string_view typed) {
  if (typed.empty() || !name.starts_with(typed)) return false;
  return name.size() == typed.size() || name[typed.size()] == '(';
}

bool TableNames::means(std::string_view name, std::string_view typed) const { return matches_function(name, typed) || (!typed.empty() && short_name(name) == typed); }

std::vector<std::string> TableNames::fit(std::span<const Row> rows) const {
  std::vector<std::string> names, texts;
  std::map<std::string, std::set<std::string_view>> alike;  // names by text
  for (const Row& row : rows) {
    names.push_back(clean_text(row.name));
    texts.push_back(sink::shortened(clean_text(short_name(row.name)), row.columns));
  }
  for (size_t i = 0; i < rows.size(); ++i) alike[texts[i]].insert(names[i]);
  std::map<std::string, std::string_view> taken;
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::set<std::string_view>& others = alike[texts[i]];
    if (others.size() > 1) {
      // The neighbours in the order of names have the most in common with it.
      const auto here = others.find(names[i]);
      size_t differs = 0;
      if (here != others.begin()) differs = common_prefix(*here, *std::prev(here));
      if (std::next(here) != others.end()) differs = std::max(differs, common_prefix(*here, *std::next(here)));
      texts[i] = told_apart(names[i], clean_text(short_name(rows[i].name)), differs, rows[i].columns);
    }
    std::string text = texts[i];
    for (size_t number = 2; taken.try_emplace(text, names[i]).first->second != names[i]; ++number) {
      const std::string mark = fmt::format(" #{}", number);
      text = sink::shortened(texts[i], rows[i].columns - std::min(mark.size(), rows[i].columns)) + mark;
    }
    texts[i] = text;
  }
  return texts;
}

}  // namespace cicada::cli
