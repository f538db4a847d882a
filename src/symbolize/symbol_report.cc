// SPDX-License-Identifier: Apache-2.0
#include "symbolize/symbol_report.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "base/parallel.h"
#include "symbolize/files/debuginfod_client.h"
#include "symbolize/symbols/image_symbols.h"

namespace cicada::symbolize {
namespace {

constexpr size_t kMaxBlockBytes = 16 << 20;
constexpr int kMoreInputMs = 10;  // a producer that pauses longer is waiting for an answer
constexpr size_t kPartAddresses = 1024;
constexpr size_t kWriteBytes = 256 << 10;

// Answers stay as they are, one copy of a name for a thousand addresses, until they are written: as text they were half of the memory and, in page
// faults, a sixth of the time.
class Answers {
 public:
  Answers(const ImageSymbols& image, const SymbolReportOptions& options)
      : image_(image), options_(options), demangled_(options.symbols.demangle, options.symbols.fold_clones) {}

  // One answer per question, in order.
  Result<void> answer(std::span<const std::string_view> questions, const TextWriter& write) {
    std::vector<std::optional<LinkAddr>> asked;
    std::vector<LinkAddr> sorted;
    asked.reserve(questions.size());
    for (const std::string_view question : questions) {
      asked.push_back(find_address(question));
      if (asked.back()) sorted.push_back(*asked.back());
    }
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    const auto parts = image_.partition(sorted, kPartAddresses);
    std::vector<NamedAddresses> named(parts.size());
    std::vector<std::pair<uint32_t, uint32_t>> places(sorted.size());  // part, index in it
    for_each_parallel(parts.size(), options_.symbols.threads, [&](size_t part) {
      std::vector<LinkAddr> addresses;
      for (const uint32_t index : parts[part]) {
        places[index] = {static_cast<uint32_t>(part), static_cast<uint32_t>(addresses.size())};
        addresses.push_back(sorted[index]);
      }
      named[part] = image_.name(addresses, NameDepth::kFull, demangled_);
    });
    std::string out;
    for (size_t i = 0; i < asked.size(); ++i) {
      if (options_.show_addresses) {
        out += asked[i] ? fmt::format("0x{:016x}", asked[i]->value) : std::string(questions[i]);
        out += options_.pretty ? ": " : "\n";
      }
      if (asked[i]) {
        const auto [part, index] = places[static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), *asked[i]) - sorted.begin())];
        append_text(named[part], named[part].positions_of(index), out);
      } else {
        append_text({}, {}, out);
      }
      if (out.size() < kWriteBytes) continue;
      TRY(write(out));
      out.clear();
    }
    return write(out);
  }

 private:
  void append_text(const NamedAddresses& named, NamedAddresses::Positions positions, std::string& out) const {
    const std::string_view between = options_.pretty ? " at " : "\n";
    if (positions.empty()) {
      out.append("??").append(between).append("??:0\n");
      return;
    }
    const auto text_or_unknown = [](std::string_view text) { return text.empty() ? std::string_view("??") : text; };
    for (const NamedAddresses::Position& position : positions) {
      if (&position != &positions.front() && options_.pretty) out += " (inlined by) ";
      out += text_or_unknown(named.text(named.functions[position.function].shown));
      out += between;
      std::string_view file = text_or_unknown(named.text(position.file));
      if (options_.basenames) file.remove_prefix(file.rfind('/') + 1);  // npos + 1 == 0
      out += file;
      out += ':';
      if (position.line == 0) {
        out += '?';
      } else {
        const fmt::format_int number(position.line);
        out.append(number.data(), number.size());
      }
      out += '\n';
    }
  }

  const ImageSymbols& image_;
  const SymbolReportOptions& options_;
  DemangleCache demangled_;
};

// Appends what can be read now; waits for the first byte. False at the end of the input. After a single line nothing more is waited for:
// that is how a program asks that waits for each answer (10 ms a question otherwise).
Result<bool> read_block(int fd, std::string& text) {
  for (bool first = true; text.size() < kMaxBlockBytes; first = false) {
    if (!first) {
      if (text.find('\n') == text.size() - 1) return true;
      struct pollfd wait {fd, POLLIN, 0};
      if (::poll(&wait, 1, kMoreInputMs) == 0) return true;
    }
    const size_t before = text.size();
    text.resize(before + (64 << 10));
    const ssize_t got = ::read(fd, text.data() + before, 64 << 10);
    text.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno != EINTR) return errno_error(errno, "read addresses");
    if (got == 0) return false;
  }
  return true;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t newline = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, newline);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(newline + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::optional<LinkAddr> find_address(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  text = text.substr(0, text.find_first_of(" \t"));  // addr2line, too, overlooks what follows
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return LinkAddr(value);
}

Result<void> report_symbols(const std::string& path, std::span<const std::string> addresses, int input, const SymbolReportOptions& options,
                            const TextWriter& write) {
  const UniqueFd fd = TRY(open_regular(path));
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  std::shared_ptr<DebuginfodClient> debuginfod;
  if (options.symbols.debuginfod) debuginfod = std::make_shared<DebuginfodClient>(std::chrono::seconds(options.symbols.debuginfod_seconds));
  SymbolizeOptions symbols = options.symbols;
  symbols.places = false;
  const auto image = TRY(ImageSymbols::open(fd.get(), error ? path : real.string(), companions_in({}, debuginfod), symbols));
  Answers answers(*image, options);
  if (!addresses.empty()) {
    const std::vector<std::string_view> questions(addresses.begin(), addresses.end());
    return answers.answer(questions, write);
  }
  std::string text;
  for (bool more = true; more;) {
    more = TRY(read_block(input, text));
    const size_t complete = more ? text.rfind('\n') + 1 : text.size();  // npos + 1 == 0
    TRY(answers.answer(split_lines(std::string_view(text).substr(0, complete)), write));
    text.erase(0, complete);
    if (text.size() > kMaxBlockBytes / 2) text.clear();  // no line is that long
  }
  return {};
}

}  // namespace cicada::symbolize
