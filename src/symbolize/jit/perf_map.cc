// SPDX-License-Identifier: Apache-2.0
#include "symbolize/jit/perf_map.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "base/diagnostics.h"

namespace cicada::symbolize {
namespace {

constexpr size_t kMaxNameBytes = 4096;
constexpr size_t kBlockBytes = 1 << 20;

// A hexadecimal number and the spaces behind it.
bool take_hex(std::string_view& text, uint64_t& value) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end == text.data() + text.size() || *end != ' ') return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  while (text.starts_with(' ')) text.remove_prefix(1);
  return true;
}

bool parse_line(std::string_view line, JitSymbol& symbol) {
  uint64_t begin = 0, size = 0;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!take_hex(line, begin) || !take_hex(line, size) || line.empty() || size == 0 || begin + size < begin) return false;
  symbol.code = {RuntimeAddr(begin), RuntimeAddr(begin + size)};
  symbol.name = std::string(line.substr(0, kMaxNameBytes));
  return true;
}

std::string_view last_component(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "/srv/server.js:42:7" -> the path, 42. V8 writes both numbers or, for old versions, only the line.
bool split_position(std::string_view& path, uint32_t& line) {
  std::array<uint32_t, 2> numbers{};
  size_t count = 0;
  while (count < 2) {
    const size_t colon = path.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == path.size()) break;
    const std::string_view digits = path.substr(colon + 1);
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) break;
    numbers[count++] = number;
    path = path.substr(0, colon);
  }
  if (count == 0) return false;
  line = numbers[count - 1];
  return true;
}

void tidy_v8(JitSymbol& symbol, std::string_view rest) {
  if (!rest.empty() && std::string_view("*~^+'").find(rest.front()) != std::string_view::npos) rest.remove_prefix(1);
  const size_t space = rest.find(' ');
  std::string_view function = rest.substr(0, space);
  std::string_view position = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
  uint32_t line = 0;
  if (position.empty() || !split_position(position, line)) {
    symbol.name = rest.empty() ? "(anonymous)" : std::string(rest);
    return;
  }
  symbol.file = std::string(position.starts_with("file://") ? position.substr(7) : position);
  symbol.line = line;
  symbol.name = fmt::format("{} ({}:{})", function.empty() ? "(anonymous)" : function, last_component(position), line);
}

}  // namespace

void tidy_jit_name(JitSymbol& symbol) {
  const std::string name = symbol.name;
  for (const std::string_view prefix : {"LazyCompile:", "JS:", "Function:", "Script:", "Eval:"}) {
    if (name.starts_with(prefix)) return tidy_v8(symbol, std::string_view(name).substr(prefix.size()));
  }
  if (name.starts_with("py::")) {
    const std::string_view rest = std::string_view(name).substr(4);
    const size_t colon = rest.find(":/") != std::string_view::npos ? rest.find(":/") : rest.rfind(':');
    if (colon == std::string_view::npos) return;
    symbol.file = std::string(rest.substr(colon + 1));
    symbol.name = fmt::format("{} ({})", rest.substr(0, colon), last_component(symbol.file));
    return;
  }
  const size_t end = name.find(";::");
  if (name.starts_with('L') && end != std::string::npos && name.find('/') < end) {
    std::string text = name.substr(1, end - 1);
    std::replace(text.begin(), text.end(), '/', '.');
    symbol.name = text + "." + name.substr(end + 3);
  }
}

PerfMapCounts append_perf_map(std::string_view text, uint32_t address_space, std::vector<JitSymbol>& symbols, size_t& used_bytes) {
  PerfMapCounts counts;
  used_bytes = 0;
  while (used_bytes < text.size()) {
    const size_t newline = text.find('\n', used_bytes);
    if (newline == std::string_view::npos) break;
    const std::string_view line = text.substr(used_bytes, newline - used_bytes);
    used_bytes = newline + 1;
    if (line.empty()) continue;
    JitSymbol symbol;
    symbol.address_space = address_space;
    symbol.source = profile::NameSource::kPerfMap;
    if (!parse_line(line, symbol) || symbols.size() >= kMaxJitSymbols) {
      ++counts.garbage_lines;
      continue;
    }
    tidy_jit_name(symbol);
    counts.bytes += bytes_of(symbol);
    symbols.push_back(std::move(symbol));
    ++counts.symbols;
  }
  return counts;
}

Result<PerfMapCounts> PerfMapReader::update(int fd, std::vector<JitSymbol>& symbols) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return errno_error(errno, "stat " + name_);
  const auto size = static_cast<uint64_t>(st.st_size);
  if (size < offset_) offset_ = 0;  // written anew
  PerfMapCounts total;
  std::string block;
  while (offset_ < std::min(size, kMaxPerfMapBytes) && bytes_ < kMaxJitBytes) {
    const off_t data = ::lseek(fd, static_cast<off_t>(offset_), SEEK_DATA);  // a hole is garbage of any length
    if (data < 0 && errno == ENXIO) break;
    if (data > 0) offset_ = std::max(offset_, static_cast<uint64_t>(data));
    block.resize(kBlockBytes);
    const ssize_t got = ::pread(fd, block.data(), block.size(), static_cast<off_t>(offset_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(errno, "read " + name_);
    if (got == 0) break;
    block.resize(static_cast<size_t>(got));
    size_t used = 0;
    const PerfMapCounts counts = append_perf_map(block, address_space_, symbols, used);
    bytes_ += counts.bytes;
    total.symbols += counts.symbols;
    total.bytes += counts.bytes;
    total.garbage_lines += counts.garbage_lines;
    if (used == 0 && block.size() < kBlockBytes) break;  // an unfinished line
    offset_ += used == 0 ? block.size() : used;          // a megabyte without a newline is garbage
  }
  if (total.garbage_lines > 0) diagnostics().warn(name_, "{} lines are not \"ADDRESS SIZE name\" and were left out", total.garbage_lines);
  if (bytes_ >= kMaxJitBytes) diagnostics().warn(name_, "more than {} MiB of names; the rest is left out", kMaxJitBytes >> 20);
  if (size > kMaxPerfMapBytes) diagnostics().warn(name_, "read up to {} MiB only", kMaxPerfMapBytes >> 20);
  return total;
}

}  // namespace cicada::symbolize
