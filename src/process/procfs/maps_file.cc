// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/maps_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/unique_fd.h"
#include "process/procfs/mapping_query.h"
#include "process/procfs/proc_fs.h"

namespace cicada::process {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

// Takes a number and the one character behind it.
template <typename T>
bool take_number(std::string_view& text, int base, char behind, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end == text.data() + text.size() || *end != behind) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return true;
}

std::string unescape(std::string_view text) {
  std::string name;
  name.reserve(text.size());
  for (size_t newline; (newline = text.find("\\012")) != std::string_view::npos; text.remove_prefix(newline + 4)) name.append(text.substr(0, newline)).push_back('\n');
  return name.append(text);
}

void append_line(std::string_view line, MapsFilter filter, MapsFile& file) {
  if (line.empty()) return;
  auto entry = find_maps_entry(line);
  // Two reads of a growing file may show an entry again, moved: what begins before the last one ended was seen already.
  if (!entry || (!file.entries.empty() && entry->range.begin < file.entries.back().range.end)) {
    ++file.malformed_lines;
    return;
  }
  if (filter == MapsFilter::kExecutable && !entry->executable) return;
  file.entries.push_back(*std::move(entry));
}

// Keeps only lines that matter before any parsing: two thirds of a maps file are not executable.
bool is_candidate(std::string_view line, MapsFilter filter) {
  if (filter == MapsFilter::kAll) return true;
  const size_t blank = line.find(' ');
  return blank == std::string_view::npos || (line.size() > blank + 3 && line[blank + 3] == 'x');
}

}  // namespace

bool take_deleted(std::string& path) {
  if (!path.ends_with(kDeleted)) return false;
  path.resize(path.size() - kDeleted.size());
  return true;
}

std::optional<MapsEntry> find_maps_entry(std::string_view line) {
  MapsEntry entry;
  if (!take_number(line, 16, '-', entry.range.begin.value) || !take_number(line, 16, ' ', entry.range.end.value)) {
    return std::nullopt;
  }
  if (entry.range.empty() || line.size() < 5 || line[4] != ' ') return std::nullopt;
  entry.readable = line[0] == 'r';
  entry.writable = line[1] == 'w';
  entry.executable = line[2] == 'x';
  entry.shared = line[3] == 's';
  line.remove_prefix(5);
  if (!take_number(line, 16, ' ', entry.offset.value) || !take_number(line, 16, ':', entry.file.major) ||
      !take_number(line, 16, ' ', entry.file.minor)) {
    return std::nullopt;
  }
  // The inode is the last field when there is no name; some kernels put a blank behind it, some do not.
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), entry.file.inode);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  if (!line.empty() && line[0] != ' ') return std::nullopt;
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  entry.path = unescape(line);
  entry.deleted = take_deleted(entry.path);
  return entry;
}

MapsFile parse_maps(std::string_view text, MapsFilter filter) {
  MapsFile file;
  while (!text.empty() && file.entries.size() < kMaxMapsEntries) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (is_candidate(line, filter)) append_line(line, filter, file);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return file;
}

Result<void> MapsText::append(std::string_view part) {
  bytes_ += part.size();
  if (bytes_ > kMaxMapsBytes) return make_error(ErrorKind::kLimit, "{}: more than {} bytes", name_, kMaxMapsBytes);
  for (size_t end; (end = part.find('\n')) != std::string_view::npos; part.remove_prefix(end + 1)) {
    std::string_view line = part.substr(0, end);
    if (!cut_.empty()) line = cut_.append(line);
    if (is_candidate(line, filter_)) append_line(line, filter_, file_);
    cut_.clear();
  }
  cut_.append(part);
  if (file_.entries.size() >= kMaxMapsEntries) return make_error(ErrorKind::kLimit, "{}: more than {} mappings", name_, kMaxMapsEntries);
  return {};
}

MapsFile MapsText::finish() {
  append_line(cut_, filter_, file_);
  return std::move(file_);
}

namespace {

Result<MapsFile> read_maps_of(Tid tid, MapsFilter filter) {
  const std::string path = fmt::format("/proc/{}/maps", tid);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT) return make_error(ErrorKind::kGone, "open {}: no such process", path);
    return errno_error(errno, fmt::format("open {}", path));
  }
  MappingLines executable(fd.get());
  MapsText text(path, filter);
  std::string buffer(32 << 10, '\0');
  for (;;) {
    const ssize_t n = filter == MapsFilter::kExecutable ? executable.read(buffer) : ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error(errno, fmt::format("read {}", path));
    if (n == 0) return text.finish();
    TRY(text.append({buffer.data(), static_cast<size_t>(n)}));
  }
}

}  // namespace

Result<MapsFile> read_maps(Pid pid, MapsFilter filter) {
  auto file = read_maps_of(pid, filter);
  if (!file || !file->entries.empty()) return file;
  const Tid thread = thread_with_memory(pid);
  return thread == pid ? std::move(file) : read_maps_of(thread, filter);
}

}  // namespace cicada::process
