// SPDX-License-Identifier: Apache-2.0
#include "base/kernel_setting.h"

#include <charconv>
#include <fstream>

namespace cicada {

std::string first_line_of(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<int64_t> find_number_in(const std::string& path) {
  const std::string line = first_line_of(path);
  const size_t begin = line.find_first_not_of(" \t");
  int64_t value = 0;
  if (begin == std::string::npos || std::from_chars(line.data() + begin, line.data() + line.size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

}  // namespace cicada
