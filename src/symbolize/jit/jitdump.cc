// SPDX-License-Identifier: Apache-2.0
#include "symbolize/jit/jitdump.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/diagnostics.h"
#include "base/seeded_hash.h"
#include "base/work_budget.h"
#include "symbolize/jit/perf_map.h"

namespace cicada::symbolize {
namespace {

constexpr uint32_t kMagic = 0x4A695444;
constexpr uint32_t kMagicSwapped = 0x4454694A;
constexpr uint32_t kVersion = 1;
constexpr uint32_t kHeaderBytes = 40, kRecordBytes = 16;
constexpr size_t kMaxLoadBytes = 64 << 10;  // its numbers and name; the code follows
enum RecordId : uint32_t { kCodeLoad = 0, kCodeMove = 1, kDebugInfo = 2 };

struct LineEntry {
  uint64_t address = 0;
  uint32_t line = 0;
  std::string_view file;
};

// The line entries of a debug-info record, one at a time: a record may hold more of them than there is room for.
class LineEntries {
 public:
  LineEntries() = default;
  LineEntries(ByteCursor entries, uint64_t count) : cursor_(entries), left_(count) {}
  // Nothing: there are no more, or the next is cut off, or they cost too much.
  std::optional<LineEntry> next(WorkBudget& budget) {
    if (left_ == 0 || cursor_.remaining() == 0) return std::nullopt;
    --left_;
    const uint64_t begin = cursor_.position();
    LineEntry entry;
    entry.address = cursor_.u64();
    entry.line = cursor_.u32();
    cursor_.u32();  // discriminator
    const std::string_view name = cursor_.c_string();
    if (cursor_.failed() || !budget.spend(cursor_.position() - begin)) return std::nullopt;
    if (name != "\xff") file_ = name;  // "the same file as before"
    entry.file = file_;
    return entry;
  }

 private:
  ByteCursor cursor_{Bytes()};
  uint64_t left_ = 0;
  std::string_view file_;
};

class Dump {
 public:
  Dump(uint32_t address_space, std::vector<JitSymbol>& symbols, const std::function<void()>& drop_pages)
      : address_space_(address_space), symbols_(symbols), drop_pages_(drop_pages) {}

  bool begin_record() {
    drop_old_pages();
    return budget_.spend(kRecordBytes) && !is_full();
  }

  void read_debug_info(ByteCursor cursor) {
    pending_code_ = cursor.u64();
    const uint64_t count = cursor.u64();
    pending_ = LineEntries(cursor, count);
  }

  void read_load(ByteCursor cursor) {
    cursor.u32();  // pid: within the target's namespace, checked in the header
    cursor.u32();
    cursor.u64();
    const uint64_t address = cursor.u64();
    const uint64_t size = cursor.u64();
    const uint64_t index = cursor.u64();
    const std::string_view name = cursor.c_string();
    const LineEntries pending = std::exchange(pending_, LineEntries());
    const LineEntries lines = pending_code_ == address ? pending : LineEntries();
    if (cursor.failed() || !budget_.spend(name.size()) || size == 0 || address + size < address || name.empty()) return;
    append(address, size, std::string(name.substr(0, 4096)), lines);
    bytes_ += name.size();
    if (loaded_.size() < kMaxJitSymbols && !is_full()) loaded_[index] = std::string(name.substr(0, 4096));
  }

  void read_move(ByteCursor cursor) {
    cursor.u32();
    cursor.u32();
    cursor.u64();
    cursor.u64();
    const uint64_t address = cursor.u64();
    const uint64_t size = cursor.u64();
    const uint64_t index = cursor.u64();
    const auto name = loaded_.find(index);
    if (cursor.failed() || size == 0 || address + size < address || name == loaded_.end() || !budget_.spend(name->second.size())) return;
    append(address, size, name->second, {});
  }

  bool is_full() const { return bytes_ >= kMaxJitBytes || symbols_.size() >= kMaxJitSymbols || budget_.exhausted(); }

 private:
  // What is looked at is paid for, so that is how much of the file has come into memory.
  void drop_old_pages() {
    if (!drop_pages_ || dropped_at_ - budget_.left() < kKeptBytes) return;
    drop_pages_();
    dropped_at_ = budget_.left();
  }

  void keep(const JitSymbol& symbol) {
    bytes_ += bytes_of(symbol);
    symbols_.push_back(symbol);
  }

  void append(uint64_t begin, uint64_t size, std::string name, LineEntries lines) {
    if (is_full()) return;
    JitSymbol symbol;
    symbol.address_space = address_space_;
    symbol.code = {RuntimeAddr(begin), RuntimeAddr(begin + size)};
    symbol.name = std::move(name);
    symbol.source = profile::NameSource::kJitDump;
    tidy_jit_name(symbol);
    keep(symbol);
    // later symbols win where they overlap, so lines are laid over the whole function
    for (auto line = lines.next(budget_); line && !is_full();) {
      const auto following = lines.next(budget_);
      const uint64_t from = std::max(line->address, begin);
      const uint64_t to = std::min(following ? following->address : begin + size, begin + size);
      if (from < to) {
        symbol.code = {RuntimeAddr(from), RuntimeAddr(to)};
        symbol.file = std::string(line->file.substr(0, 4096));
        symbol.line = line->line;
        keep(symbol);
      }
      line = following;
      drop_old_pages();
    }
  }

  uint32_t address_space_;
  std::vector<JitSymbol>& symbols_;
  size_t bytes_ = 0;  // of symbols and names; one file's lines may all name the same long path
  WorkBudget budget_{kMaxJitdumpBytes};
  static constexpr uint64_t kKeptBytes = 16 << 20;
  const std::function<void()>& drop_pages_;
  uint64_t dropped_at_ = kMaxJitdumpBytes;
  LineEntries pending_;
  uint64_t pending_code_ = 0;
  std::unordered_map<uint64_t, std::string, SeededHash> loaded_;
};

}  // namespace

Result<void> append_jitdump(Bytes bytes, const std::string& name, Pid pid, uint32_t address_space, std::vector<JitSymbol>& symbols, const std::function<void()>& drop_pages) {
  ByteCursor header(bytes);
  const uint32_t magic = header.u32();
  if (magic == kMagicSwapped) return make_error(ErrorKind::kUnsupported, "{}: jitdump of another byte order", name);
  if (magic != kMagic) return make_error(ErrorKind::kCorrupt, "{}: not a jitdump", name);
  const uint32_t version = header.u32();
  const uint32_t header_size = header.u32();
  header.u32();  // machine
  header.u32();
  const auto owner = static_cast<Pid>(header.u32());
  if (header.failed() || header_size < kHeaderBytes || header_size > bytes.size()) return make_error(ErrorKind::kCorrupt, "{}: jitdump header cut off", name);
  if (version != kVersion) return make_error(ErrorKind::kUnsupported, "{}: jitdump version {}", name, version);
  if (pid != 0 && owner != pid) return make_error(ErrorKind::kInvalid, "{}: jitdump of process {}, not of {}; not used", name, owner, pid);
  Dump dump(address_space, symbols, drop_pages);
  for (ByteCursor cursor(bytes, header_size); cursor.remaining() >= kRecordBytes && dump.begin_record();) {
    const uint32_t id = cursor.u32();
    const uint32_t size = cursor.u32();
    cursor.u64();  // time
    if (size < kRecordBytes) break;
    const Bytes body = cursor.take(size - kRecordBytes);
    if (cursor.failed()) break;  // still being written
    if (id == kCodeLoad) dump.read_load(ByteCursor(body.first(std::min(body.size(), kMaxLoadBytes))));
    if (id == kCodeMove) dump.read_move(ByteCursor(body));
    if (id == kDebugInfo) dump.read_debug_info(ByteCursor(body.first(std::min<uint64_t>(body.size(), 2 * kMaxJitdumpBytes))));
  }
  if (dump.is_full()) diagnostics().warn(name, "more than {} MiB of names; the rest is left out", kMaxJitBytes >> 20);
  return {};
}

std::optional<std::string> find_jitdump(std::string_view maps, Pid pid) {
  const std::string wanted = fmt::format("/jit-{}.dump\n", pid);
  const size_t at = maps.find(wanted);
  if (at == std::string_view::npos) return std::nullopt;
  const size_t line = maps.rfind('\n', at) + 1;  // npos + 1 == 0
  const size_t slash = maps.find('/', line);
  return std::string(maps.substr(slash, at + wanted.size() - 1 - slash));
}

}  // namespace cicada::symbolize
