// SPDX-License-Identifier: Apache-2.0
// kallsyms is 122,000 lines of text on a plain kernel. Only lines that end up as the predecessor of a wanted address matter,
// so nothing is stored but one candidate for each address: for every line, the wanted addresses at or behind it are found by
// binary search and keep the nearest. Modules come after the kernel in the file, so the order cannot be relied on.
#include "symbolize/kernel/kernel_names.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "base/diagnostics.h"
#include "base/unique_fd.h"

namespace cicada::symbolize {
namespace {

constexpr uint64_t kMaxKallsymsBytes = 256 << 20;
constexpr uint64_t kMaxFunctionBytes = 4 << 20;  // an address further behind its predecessor is nobody's

Result<std::string> read_text(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return errno_error(errno, "open " + path);
  std::string text;
  size_t used = 0;
  while (used < kMaxKallsymsBytes) {
    if (text.size() - used < (64 << 10))
      text.resize(std::max<size_t>(256 << 10, text.size() * 4));  // 8 MB are usual, 16 MiB of fresh pages cost 60 ms
    const ssize_t got = ::read(fd.get(), text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error(errno, "read " + path);
    if (got == 0) break;
    used += static_cast<size_t>(got);
  }
  text.resize(used);
  return text;
}

struct Line {
  uint64_t address = 0;
  char type = 0;
  std::string_view name, module;
};

// "ffffffff81000000 T _text" or "ffffffffc0000000 t ext4_read\t[ext4]"
bool parse_line(std::string_view text, Line& line) {
  const char* end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, line.address, 16);
  if (error != std::errc() || end - after < 4 || *after != ' ' || after[2] != ' ') return false;
  line.type = after[1];
  std::string_view rest(after + 3, static_cast<size_t>(end - after - 3));
  line.module = {};
  if (const size_t tab = rest.find_first_of("\t "); tab != std::string_view::npos) {
    std::string_view module = rest.substr(tab + 1);
    if (module.starts_with('[') && module.ends_with(']')) line.module = module.substr(1, module.size() - 2);
    rest = rest.substr(0, tab);
  }
  line.name = rest;
  return !rest.empty();
}

bool is_code(char type) { return type == 't' || type == 'T' || type == 'w' || type == 'W'; }

// Of two names of one address: global before local, then the fewest underscores, the shortest, the first.
bool better(const Line& a, const Line& b) {
  const bool a_global = a.type == 'T', b_global = b.type == 'T';
  if (a_global != b_global) return a_global;
  const auto underscores = [](std::string_view s) { return std::min(s.find_first_not_of('_'), s.size()); };
  if (underscores(a.name) != underscores(b.name)) return underscores(a.name) < underscores(b.name);
  if (a.name.size() != b.name.size()) return a.name.size() < b.name.size();
  return a.name < b.name;
}

class KallsymsNames : public KernelNames {
 public:
  explicit KallsymsNames(std::string path) : path_(std::move(path)) {}

  Result<void> resolve(std::span<const uint64_t> addresses, std::vector<KernelSymbol>& symbols) override {
    const std::string text = TRY(read_text(path_));
    std::vector<uint64_t> wanted(addresses.begin(), addresses.end());
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());

    // nearest[i]: the best line in (wanted[i-1], wanted[i]]. A line only matters to the first wanted address behind it, later
    // ones inherit it if they have none of their own.
    std::vector<Line> nearest(wanted.size());
    bool any_address = false;
    for (size_t at = 0; at < text.size();) {
      const size_t newline = std::min(text.find('\n', at), text.size());
      Line line;
      const bool good = parse_line(std::string_view(text).substr(at, newline - at), line);
      at = newline + 1;
      if (!good || line.address == 0) continue;
      any_address = true;
      const auto it = std::lower_bound(wanted.begin(), wanted.end(), line.address);
      if (it == wanted.end()) continue;
      Line& slot = nearest[static_cast<size_t>(it - wanted.begin())];
      if (slot.name.empty() || line.address > slot.address ||
          (line.address == slot.address && is_code(line.type) && (!is_code(slot.type) || better(line, slot)))) {
        slot = line;
      }
    }
    if (!any_address) {
      diagnostics().warn(path_, "kernel functions stay unnamed: the kernel hides their addresses; run as root, or `sysctl kernel.kptr_restrict=0`");
      return make_error(ErrorKind::kPermission, "{}: addresses are hidden (kernel.kptr_restrict)", path_);
    }
    for (size_t i = 1; i < nearest.size(); ++i) {
      if (nearest[i].name.empty()) nearest[i] = nearest[i - 1];
    }
    symbols.reserve(symbols.size() + addresses.size());
    for (const uint64_t address : addresses) {
      const auto index = static_cast<size_t>(std::lower_bound(wanted.begin(), wanted.end(), address) - wanted.begin());
      const Line& line = nearest[index];
      KernelSymbol& symbol = symbols.emplace_back();
      if (line.name.empty() || !is_code(line.type) || address - line.address > kMaxFunctionBytes) continue;
      symbol = {std::string(line.name), std::string(line.module), address - line.address, profile::NameSource::kKallsyms};
      tidy_bpf_program(symbol);
    }
    return {};
  }

 private:
  std::string path_;
};

bool is_hex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

}  // namespace

bool recorded_by_this_boot(const profile::Header& header) {
  std::string boot_id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot_id);
  return header.boot_id == boot_id;
}

std::unique_ptr<KernelNames> kallsyms_names(std::string path) { return std::make_unique<KallsymsNames>(std::move(path)); }

KernelSymbol parse_kernel_text(std::string_view text) {
  KernelSymbol symbol;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\0')) text.remove_suffix(1);
  if (text.ends_with(']')) {
    const size_t open = text.rfind(" [");
    if (open != std::string_view::npos) {
      std::string_view module = text.substr(open + 2, text.size() - open - 3);
      symbol.module = std::string(module.substr(0, module.find(' ')));  // "[ext4 build-id]" has more
      text = text.substr(0, open);
    }
  }
  if (const size_t plus = text.rfind("+0x"); plus != std::string_view::npos && plus > 0) {
    const std::string_view numbers = text.substr(plus + 3);
    const std::string_view offset = numbers.substr(0, numbers.find('/'));
    if (is_hex(offset) && std::from_chars(offset.data(), offset.data() + offset.size(), symbol.offset, 16).ec == std::errc()) {
      text = text.substr(0, plus);
    }
  }
  if (text.empty() || text.starts_with("0x") || text.starts_with('(') || (text.size() >= 8 && is_hex(text))) return {};
  symbol.name = std::string(text);
  symbol.source = profile::NameSource::kKernel;
  tidy_bpf_program(symbol);
  return symbol;
}

void tidy_bpf_program(KernelSymbol& symbol) {
  constexpr std::string_view kPrefix = "bpf_prog_";
  constexpr size_t kTagDigits = 16;
  const std::string_view name = symbol.name;
  if (!name.starts_with(kPrefix) || name.size() < kPrefix.size() + kTagDigits) return;
  if (!is_hex(name.substr(kPrefix.size(), kTagDigits))) return;
  const std::string_view rest = name.substr(kPrefix.size() + kTagDigits);
  if (!rest.empty() && !rest.starts_with('_')) return;
  symbol.module = "bpf";
  if (rest.size() > 1) symbol.name = std::string(rest.substr(1));
}

}  // namespace cicada::symbolize
