// SPDX-License-Identifier: Apache-2.0
#include "base/near_names.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace cicada {
namespace {

constexpr size_t kMost = 3, kLongest = 64;

// Letters to put in, take out or change (Levenshtein).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string near_names(std::string_view name, std::span<const std::string> names) {
  if (name.empty() || name.size() > kLongest) return {};
  std::vector<std::pair<size_t, std::string_view>> near;
  for (const std::string& one : names) {
    if (one.size() > kLongest) continue;
    const size_t letters = distance(name, one);
    const bool part = name.size() > 2 && one.find(name) != std::string::npos;
    if (letters <= std::max<size_t>(1, name.size() / 3) || part) near.emplace_back(letters, one);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (near.size() > kMost) near.resize(kMost);
  std::string text;
  for (const auto& [letters, one] : near) text.append(text.empty() ? "" : ", ").append(one);
  return text;
}

}  // namespace cicada
