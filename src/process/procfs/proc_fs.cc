// SPDX-License-Identifier: Apache-2.0
#include "process/procfs/proc_fs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>

#include "base/unique_fd.h"

namespace cicada::process {
namespace {

constexpr uint64_t kPfKthread = 0x00200000;
constexpr uint64_t kInitialPidNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO, include/linux/proc_ns.h

template <typename T>
std::optional<T> find_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::string_view next_field(std::string_view& text) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
  const std::string_view field = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return field;
}

// The numeric names in a directory of /proc, ascending.
Result<std::vector<int32_t>> list_numbers(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(path.c_str()), ::closedir);
  if (!dir) return errno_error(errno, fmt::format("list {}", path));
  std::vector<int32_t> numbers;
  while (const dirent* entry = ::readdir(dir.get())) {
    if (const auto number = find_number<int32_t>(entry->d_name); number && *number > 0) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

Result<std::string> read_proc_file(const std::string& path, size_t max_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd) {
    if (errno == ENOENT) return make_error(ErrorKind::kGone, "open {}: no such process", path);
    return errno_error(errno, fmt::format("open {}", path));
  }
  std::string text;
  size_t used = 0;
  while (used < max_bytes) {
    if (text.size() == used) text.resize(std::min(max_bytes, std::max<size_t>(4096, used * 2)));
    const ssize_t n = ::read(fd.get(), text.data() + used, text.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error(errno, fmt::format("read {}", path));
    if (n == 0) break;
    used += static_cast<size_t>(n);
  }
  text.resize(used);
  return text;
}

// "pid (comm) S ppid …": comm may hold anything, so it ends at the *last* parenthesis.
std::optional<ProcStat> find_stat(std::string_view text) {
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open || open == 0) return std::nullopt;
  ProcStat stat;
  const auto pid = find_number<Pid>(text.substr(0, open - 1));
  if (!pid) return std::nullopt;
  stat.pid = *pid;
  stat.comm = text.substr(open + 1, close - open - 1);
  std::string_view rest = text.substr(close + 1);
  const std::string_view state = next_field(rest);
  const auto parent = find_number<Pid>(next_field(rest));
  if (state.size() != 1 || !parent) return std::nullopt;
  stat.state = state[0];
  stat.parent_pid = *parent;
  for (int field = 5; field <= 8; ++field) next_field(rest);
  const auto flags = find_number<uint64_t>(next_field(rest));
  for (int field = 10; field <= 21; ++field) next_field(rest);
  const auto start = find_number<uint64_t>(next_field(rest));
  if (!flags || !start) return std::nullopt;
  stat.kernel_thread = (*flags & kPfKthread) != 0;
  stat.start_ticks = *start;
  return stat;
}

Result<ProcStat> read_stat(Pid pid) {
  const std::string path = fmt::format("/proc/{}/stat", pid);
  const std::string text = TRY(read_proc_file(path, 4096));
  auto stat = find_stat(text);
  if (!stat || stat->pid != pid) return make_error(ErrorKind::kCorrupt, "{}: not a process status", path);
  return *std::move(stat);
}

// A name cannot pretend to be another line: the kernel writes its newlines as "\\n".
std::optional<std::vector<uint32_t>> find_status_numbers(std::string_view status, std::string_view key) {
  const std::string begin = fmt::format("{}:\t", key);
  size_t at = 0;
  while (!status.substr(at).starts_with(begin)) {
    at = status.find('\n', at);
    if (at++ == std::string_view::npos) return std::nullopt;
  }
  std::string_view text = status.substr(at + begin.size());
  text = text.substr(0, text.find('\n'));
  std::vector<uint32_t> numbers;
  while (!text.empty()) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc()) numbers.push_back(number);
    text.remove_prefix(std::max<size_t>(1, static_cast<size_t>(end - text.data())));
  }
  return numbers;
}

// "113 90 0:42 / /where rw,relatime shared:1 - overlay …": blanks and newlines in names are escaped.
bool has_mount(std::string_view mountinfo, std::string_view type, uint32_t major, uint32_t minor) {
  const std::string device = fmt::format("{}:{}", major, minor), kind = fmt::format(" - {} ", type);
  while (!mountinfo.empty()) {
    const std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(line.size() + 1, mountinfo.size()));
    size_t at = 0;
    for (int i = 0; i < 2 && at != std::string_view::npos; ++i) at = line.find(' ', at == 0 ? 0 : at + 1);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = line.substr(at + 1);
    if (rest.substr(0, rest.find(' ')) == device && rest.find(kind) != std::string_view::npos) return true;
  }
  return false;
}

Result<Pid> read_process_of(Tid tid) {
  const std::string path = fmt::format("/proc/{}/status", tid);
  const std::string status = TRY(read_proc_file(path, 4096));
  const auto pid = find_status_numbers(status, "Tgid");
  if (!pid || pid->size() != 1) return make_error(ErrorKind::kCorrupt, "{}: not a process status", path);
  return static_cast<Pid>(pid->front());
}

Result<std::vector<Pid>> list_processes() { return list_numbers("/proc"); }

uint32_t owner_of(Pid pid) {
  struct stat st {};
  return ::stat(fmt::format("/proc/{}", pid).c_str(), &st) == 0 ? st.st_uid : kNobody;
}

std::vector<Tid> list_threads(Pid pid) {
  auto threads = list_numbers(fmt::format("/proc/{}/task", pid));
  return threads ? *std::move(threads) : std::vector<Tid>();
}

Tid thread_with_memory(Pid pid) {
  const auto leader = read_stat(pid);
  if (!leader || leader->state != 'Z') return pid;
  for (const Tid tid : list_threads(pid)) {
    const auto text = read_proc_file(fmt::format("/proc/{}/task/{}/stat", pid, tid), 4096);
    const auto stat = text ? find_stat(*text) : std::nullopt;
    if (stat && stat->state != 'Z' && stat->state != 'X') return tid;
  }
  return pid;
}

// Mount options follow " - ": "… /proc rw,… - proc proc rw,hidepid=2".
int find_hidepid(std::string_view text) {
  int hidepid = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.find(" /proc ") == std::string_view::npos || line.find(" - proc ") == std::string_view::npos) continue;
    const size_t at = line.find("hidepid=");
    if (at == std::string_view::npos) continue;
    const std::string_view value = line.substr(at + 8);
    if (value.starts_with("1") || value.starts_with("noaccess")) hidepid = 1;
    if (value.starts_with("2") || value.starts_with("invisible")) hidepid = 2;
    if (value.starts_with("4") || value.starts_with("ptraceable")) hidepid = 4;
  }
  return hidepid;
}

ProcVisibility proc_visibility() {
  ProcVisibility visibility;
  const auto self = read_stat(::getpid());
  visibility.mounted = static_cast<bool>(self);
  struct stat st {};
  visibility.initial_pid_namespace = ::stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == kInitialPidNamespace;
  if (const auto mounts = read_proc_file("/proc/self/mountinfo", 1 << 20)) visibility.hidepid = find_hidepid(*mounts);
  visibility.others_visible = static_cast<bool>(read_proc_file("/proc/1/maps", 1)) || ::access("/proc/1/stat", R_OK) == 0;
  return visibility;
}

}  // namespace cicada::process
