// SPDX-License-Identifier: Apache-2.0
// A value is read between two looks at the start time, and stored only if no exec was reported in between (epoch): an exec that is
// reported later takes the value away then. So a value is of the process and program that its key and epoch say, or is not there.
#include "process/metadata/metadata_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ostream>

#include "process/procfs/proc_fs.h"

namespace cicada::process {
namespace {

size_t bytes_of(const std::vector<std::string>& values) {
  size_t bytes = 0;
  for (const std::string& value : values) bytes += value.size() + sizeof value;
  return bytes;
}
size_t bytes_of(const std::string& value) { return value.size(); }
size_t bytes_of(uint64_t) { return 0; }

// NUL-terminated strings; one that does not end within the bound is left out. Nothing at all is no answer: so it is in the midst of an
// exec, when the new program's stack is not written yet, and of an exit.
std::optional<std::vector<std::string>> find_strings(const Result<std::string>& text, size_t max_bytes) {
  if (!text || text->empty()) return std::nullopt;
  std::vector<std::string> strings;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const size_t end = rest.find('\0');
    if (end == std::string_view::npos) {
      // A process may overwrite its arguments with one unterminated text (setproctitle): whole if it is all there is.
      if (text->size() < max_bytes) strings.emplace_back(rest);
      break;
    }
    strings.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return strings;
}

std::optional<std::string> find_target(const std::string& path) {
  std::string target(4096, '\0');
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size < 0) return std::nullopt;
  target.resize(static_cast<size_t>(size));
  return target;
}

// "mnt:[4026531841]"
std::optional<uint64_t> find_namespace(const std::string& path) {
  const auto target = find_target(path);
  if (!target) return std::nullopt;
  const size_t open = target->find('[');
  uint64_t inode = 0;
  if (open == std::string::npos) return std::nullopt;
  const auto [end, error] = std::from_chars(target->data() + open + 1, target->data() + target->size(), inode);
  if (error != std::errc() || end == target->data() + target->size() || *end != ']') return std::nullopt;
  return inode;
}

// "0::/user.slice/x" is the unified hierarchy; older ones name their controllers: "4:cpu:/x".
std::optional<std::string> find_cgroup(const Result<std::string>& text) {
  if (!text) return std::nullopt;
  std::string_view rest = *text;
  std::optional<std::string> first;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t second_colon = line.find(':', std::min(line.find(':'), line.size() - 1) + 1);
    if (second_colon == std::string_view::npos) continue;
    std::string value(line.substr(second_colon + 1));
    if (line.starts_with("0::")) return value;
    if (!first) first = std::move(value);
  }
  return first;
}

}  // namespace

ProcessMetadataCache::ProcessMetadataCache(Options options) : options_(std::move(options)) {
  if (!options_.read_file) options_.read_file = read_proc_file;
  if (!options_.read_memory)
    options_.read_memory = [read = options_.read_file](Pid, const std::string& path, size_t max_bytes, const std::stop_token&) {
      return read(path, max_bytes);
    };
}

std::string ProcessMetadataCache::path(ProcessKey key, std::string_view file) const { return fmt::format("{}/{}/{}", options_.proc, key.pid, file); }

std::optional<ProcessKey> ProcessMetadataCache::find_key(Pid pid) const {
  const auto text = options_.read_file(fmt::format("{}/{}/stat", options_.proc, pid), 4096);
  if (!text) return std::nullopt;
  const auto stat = find_stat(*text);
  if (!stat || stat->pid != pid) return std::nullopt;
  return ProcessKey{pid, stat->start_ticks};
}

template <typename T, typename Read>
std::optional<T> ProcessMetadataCache::value(ProcessKey key, std::optional<T> ProcessMetadata::*member, Read read) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = entries_.find(key); at != entries_.end()) {
      recent_.splice(recent_.begin(), recent_, at->second.order);
      if (at->second.metadata.*member) {
        ++stats_.hits;
        return at->second.metadata.*member;
      }
    }
    ++stats_.misses;
  }
  if (!is_running(key)) return count_vanished();  // also keeps strangers' pids from filling the cache
  notice_dead(1, 0);
  uint64_t epoch = 0;
  {
    const std::lock_guard lock(mutex_);
    if (const Entry* entry = find_or_insert(key)) epoch = entry->epoch;
  }
  std::optional<T> found = read();
  if (!found) return std::nullopt;
  if (!is_running(key)) return count_vanished();
  const size_t bytes = bytes_of(*found);
  notice_dead(0, bytes);
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(key);
  if (at == entries_.end()) return found;  // no room: the answer is right, and forgotten
  if (at->second.epoch != epoch) return std::nullopt;  // exec: may be of either program
  if (!make_room(0, bytes, key)) {
    ++stats_.refused;
    return found;
  }
  if (!(at->second.metadata.*member)) {
    at->second.metadata.*member = found;
    at->second.bytes += bytes;
    stats_.bytes += bytes;
  }
  return found;
}

std::optional<std::vector<std::string>> ProcessMetadataCache::strings(ProcessKey key, std::string_view file,
                                                                      const std::stop_token& stop) const {
  return find_strings(options_.read_memory(key.pid, path(key, file), options_.max_value_bytes, stop), options_.max_value_bytes);
}

std::optional<std::vector<std::string>> ProcessMetadataCache::cmdline(ProcessKey key, const std::stop_token& stop) {
  return value(key, &ProcessMetadata::cmdline, [&] { return strings(key, "cmdline", stop); });
}
std::optional<std::vector<std::string>> ProcessMetadataCache::environ(ProcessKey key, const std::stop_token& stop) {
  return value(key, &ProcessMetadata::environ, [&] { return strings(key, "environ", stop); });
}
std::optional<std::string> ProcessMetadataCache::cwd(ProcessKey key) {
  return value(key, &ProcessMetadata::cwd, [&] { return find_target(path(key, "cwd")); });
}
std::optional<std::string> ProcessMetadataCache::exe(ProcessKey key) {
  return value(key, &ProcessMetadata::exe, [&] { return find_target(path(key, "exe")); });
}
std::optional<std::string> ProcessMetadataCache::cgroup(ProcessKey key) {
  return value(key, &ProcessMetadata::cgroup, [&] { return find_cgroup(options_.read_file(path(key, "cgroup"), 64 << 10)); });
}
std::optional<uint64_t> ProcessMetadataCache::mount_namespace(ProcessKey key) {
  return value(key, &ProcessMetadata::mount_namespace, [&] { return find_namespace(path(key, "ns/mnt")); });
}
std::optional<uint64_t> ProcessMetadataCache::pid_namespace(ProcessKey key) {
  return value(key, &ProcessMetadata::pid_namespace, [&] { return find_namespace(path(key, "ns/pid")); });
}

std::optional<std::string> ProcessMetadataCache::environ_var(ProcessKey key, std::string_view name) {
  const auto variables = environ(key);
  if (!variables || name.empty() || name.find('=') != std::string_view::npos) return std::nullopt;
  for (const std::string& variable : *variables) {
    if (variable.size() > name.size() && variable[name.size()] == '=' && variable.starts_with(name)) return variable.substr(name.size() + 1);
  }
  return std::nullopt;
}

std::optional<std::string> ProcessMetadataCache::environ_var(Pid pid, std::string_view name) {
  const auto key = find_key(pid);
  return key ? environ_var(*key, name) : std::nullopt;
}

void ProcessMetadataCache::on_exec(ProcessKey key) {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(key);
  if (at == entries_.end()) return;
  Entry& entry = at->second;
  ++entry.epoch;
  ++stats_.invalidated;
  ProcessMetadata& metadata = entry.metadata;
  metadata.cmdline.reset();
  metadata.environ.reset();
  metadata.exe.reset();
  stats_.bytes -= entry.bytes;
  entry.bytes = (metadata.cwd ? bytes_of(*metadata.cwd) : 0) + (metadata.cgroup ? bytes_of(*metadata.cgroup) : 0);
  stats_.bytes += entry.bytes;
}

void ProcessMetadataCache::on_exit(ProcessKey key) {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(key);
  if (at != entries_.end() && at->second.exited_in_cycle == 0) at->second.exited_in_cycle = cycle_;
}

void ProcessMetadataCache::end_cycle() {
  const std::lock_guard lock(mutex_);
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto next = std::next(at);
    if (at->second.exited_in_cycle != 0 && at->second.exited_in_cycle < cycle_) {
      ++stats_.evicted;
      erase(at);
    }
    at = next;
  }
  ++cycle_;
}

std::optional<ProcessMetadata> ProcessMetadataCache::snapshot(ProcessKey key) const {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(key);
  return at == entries_.end() ? std::nullopt : std::optional(at->second.metadata);
}

MetadataStats ProcessMetadataCache::stats() const {
  const std::lock_guard lock(mutex_);
  MetadataStats stats = stats_;
  stats.entries = entries_.size();
  return stats;
}

ProcessMetadataCache::Entry* ProcessMetadataCache::find_or_insert(ProcessKey key) {
  if (const auto at = entries_.find(key); at != entries_.end()) return &at->second;
  if (!make_room(1, 0, key)) {
    ++stats_.refused;
    return nullptr;
  }
  Entry& entry = entries_[key];
  entry.metadata.key = key;
  recent_.push_front(key);
  entry.order = recent_.begin();
  return &entry;
}

std::nullopt_t ProcessMetadataCache::count_vanished() {
  const std::lock_guard lock(mutex_);
  ++stats_.vanished;
  return std::nullopt;
}

void ProcessMetadataCache::notice_dead(size_t entries, size_t bytes) {
  constexpr size_t kMaxLooks = 64;
  std::vector<ProcessKey> oldest;
  {
    const std::lock_guard lock(mutex_);
    if (has_room(entries, bytes)) return;
    for (auto at = recent_.rbegin(); at != recent_.rend() && oldest.size() < kMaxLooks; ++at)
      if (entries_.at(*at).exited_in_cycle == 0) oldest.push_back(*at);
  }
  std::erase_if(oldest, [&](ProcessKey key) { return is_running(key); });
  const std::lock_guard lock(mutex_);
  for (const ProcessKey key : oldest)
    if (const auto at = entries_.find(key); at != entries_.end() && at->second.exited_in_cycle == 0) at->second.exited_in_cycle = cycle_;
}

// The dead go first, then the least recently used; never `keep`.
bool ProcessMetadataCache::make_room(size_t entries, size_t bytes, ProcessKey keep) {
  if (entries > options_.max_entries || bytes > options_.max_bytes) return false;
  for (const bool dead_only : {true, false}) {
    for (auto at = recent_.end(); !has_room(entries, bytes) && at != recent_.begin();) {
      const auto entry = entries_.find(*std::prev(at));
      if (entry->first == keep || (dead_only && entry->second.exited_in_cycle == 0)) {
        --at;
        continue;
      }
      ++(dead_only ? stats_.pruned : stats_.evicted);
      erase(entry);
    }
  }
  return has_room(entries, bytes);
}

void ProcessMetadataCache::erase(std::unordered_map<ProcessKey, Entry, KeyHash>::iterator at) {
  stats_.bytes -= at->second.bytes;
  recent_.erase(at->second.order);
  entries_.erase(at);
}

std::ostream& operator<<(std::ostream& out, const ProcessMetadata& metadata) {
  out << "process " << metadata.key.pid << " (start " << metadata.key.start_ticks << ")";
  if (metadata.cmdline) out << ", " << metadata.cmdline->size() << " arguments";
  if (metadata.environ) out << ", " << metadata.environ->size() << " environment variables";
  if (metadata.exe) out << ", exe " << *metadata.exe;
  if (metadata.cwd) out << ", cwd " << *metadata.cwd;
  if (metadata.cgroup) out << ", cgroup " << *metadata.cgroup;
  if (metadata.mount_namespace) out << ", mnt " << *metadata.mount_namespace;
  if (metadata.pid_namespace) out << ", pid " << *metadata.pid_namespace;
  return out;
}

std::ostream& operator<<(std::ostream& out, const MetadataStats& stats) {
  return out << stats.entries << " entries, " << stats.bytes << " bytes, " << stats.hits << " hits, " << stats.misses << " misses, "
             << stats.evicted << " evicted, " << stats.pruned << " dead pruned, " << stats.refused << " refused, " << stats.invalidated
             << " invalidated by exec, " << stats.vanished << " vanished";
}

}  // namespace cicada::process
