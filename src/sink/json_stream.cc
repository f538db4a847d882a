// SPDX-License-Identifier: Apache-2.0
#include "sink/json_stream.h"

#include <fmt/format.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/clean_text.h"

namespace cicada::sink {

std::string to_json_string(std::string_view text) {
  std::string storage;
  std::string out = nlohmann::json(clean_text(text, storage)).dump();
  for (size_t at = 0; (at = out.find('<', at)) != std::string::npos; at += 6) out.replace(at, 1, "\\u003c");
  return out;
}

void JsonStream::value(uint64_t number) {
  const fmt::format_int text(number);
  raw({text.data(), text.size()});
}

void JsonStream::value(int64_t number) {
  const fmt::format_int text(number);
  raw({text.data(), text.size()});
}

// Shortest text that reads back as the same number; JSON has no infinities.
void JsonStream::value(double number) { raw(std::isfinite(number) ? fmt::format("{}", number) : "null"); }

}  // namespace cicada::sink
