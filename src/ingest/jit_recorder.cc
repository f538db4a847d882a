// SPDX-License-Identifier: Apache-2.0
#include "ingest/jit_recorder.h"

#include <sys/prctl.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "base/file_mapping.h"
#include "process/procfs/proc_fs.h"

namespace cicada::ingest {
namespace {

constexpr size_t kMaxMapsBytes = 4 << 20;  // 30,000 mappings

}  // namespace

JitRecorder::~JitRecorder() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void JitRecorder::note_sampled(std::vector<JitProcess> processes) {
  if (processes.empty()) return;
  if (!thread_.joinable()) {
    active_ = true;
    thread_ = std::jthread([this](std::stop_token stop) { work(stop); });
  }
  {
    const std::lock_guard lock(mutex_);
    sampled_.insert(sampled_.end(), processes.begin(), processes.end());
  }
  wake_.notify_one();
}

void JitRecorder::note_exit(Pid pid) {
  if (!active_.load(std::memory_order_relaxed)) return;
  {
    const std::lock_guard lock(mutex_);
    exited_.push_back(pid);
  }
  wake_.notify_one();
}

std::vector<symbolize::JitSymbol> JitRecorder::take_new() {
  const std::lock_guard lock(mutex_);
  return std::exchange(new_, {});
}

std::vector<symbolize::JitSymbol> JitRecorder::finish() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  active_ = false;
  return std::exchange(symbols_, {});
}

void JitRecorder::work(std::stop_token stop) {
  ::prctl(PR_SET_NAME, "cicada-jit");
  auto next_copy = Clock::now() + kCopyEvery;
  while (true) {
    std::vector<JitProcess> sampled;
    std::vector<Pid> exited;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, stop, kRetry, [this] { return !sampled_.empty() || !exited_.empty(); });
      std::swap(sampled, sampled_);
      std::swap(exited, exited_);
    }
    for (const JitProcess& process : sampled) {
      if (const uint32_t uid = process::owner_of(process.pid); has_room(uid)) {
        open_.try_emplace(process).first->second.uid = uid;
      } else if (!open_.contains(process)) {
        diagnostics().warn("JIT code", "too many processes run JIT code, more than {} of one user or {} in all; that of the others has no names", kMaxProcesses / 2,
                           kMaxProcesses);
      }
    }
    if (stop.stop_requested()) break;
    for (auto& [process, sources] : open_) look_for(process, sources, false);
    if (const auto now = Clock::now(); now >= next_copy) {
      next_copy = now + kCopyEvery;
      for (auto& [process, sources] : open_) copy_map(sources);
      publish();
    }
    for (const Pid pid : exited) {
      for (auto at = open_.lower_bound({pid, 0, 0}); at != open_.end() && at->first.pid == pid;) {
        copy(at->first, at->second);
        at = open_.erase(at);
      }
    }
  }
  const auto deadline = Clock::now() + kFinishTimeout;
  for (auto& [process, sources] : open_) {
    if (Clock::now() > deadline) {
      diagnostics().warn("JIT code", "the maps of JIT code take too long to read; some of it has no names");
      break;
    }
    copy(process, sources);
  }
  open_.clear();
}

// A refused file has been reported by whoever refused it.
void JitRecorder::look_for(const JitProcess& process, Sources& sources, bool last_time) {
  if (!sources.map.path.empty()) return;
  const auto now = Clock::now();
  if (now < sources.next_look && !last_time) return;
  sources.next_look = now + sources.retry;
  sources.retry = std::min<Clock::duration>(2 * sources.retry, kSlowestRetry);
  if (!sources.files) {
    auto files = process::ProcessFiles::open(process.pid, proc_);
    if (!files) {
      if (files.error().kind() == ErrorKind::kPermission) diagnostics().warn("JIT code", "{}", files.error().message());
      return;
    }
    if (!is_running(process)) return;
    sources.pid_inside = files->pid_inside();
    sources.uid = files->uid();
    sources.files.emplace(*std::move(files));
  }
  if (sources.dump.path.empty()) {
    const auto maps = process::read_proc_file(fmt::format("{}/{}/maps", proc_, process.pid), kMaxMapsBytes);
    const auto path = maps ? symbolize::find_jitdump(*maps, sources.pid_inside) : std::nullopt;
    if (path && is_running(process)) open(*sources.files, *path, sources.dump);
  }
  if (sources.map.path.empty() && open(*sources.files, fmt::format("/tmp/perf-{}.map", sources.pid_inside), sources.map)) {
    sources.map_reader.emplace(sources.map.path, process.address_space);
    if (sources.map.fd && (sources.dump.path.empty() || sources.dump.fd)) sources.files.reset();
  }
}

bool JitRecorder::open(const process::ProcessFiles& files, const std::string& path, Source& source) {
  auto file = open_file(files, path, 0);
  if (!file) {
    if (file.error().kind() != ErrorKind::kNotFound) diagnostics().warn(path, "{}", file.error().message());
    return false;
  }
  source.path = path;
  if (!file->is_copy) source.fd = std::move(file->fd);
  return true;
}

Result<process::ProcessFiles::File> JitRecorder::open_file(const process::ProcessFiles& files, const std::string& path, uint64_t from) {
  const auto now = Clock::now();
  std::erase_if(silent_until_, [now](const auto& entry) { return entry.second < now; });
  if (silent_until_.contains(files.uid()))
    return make_error(ErrorKind::kNotFound, "{}: another file of user {} was not answered for", path, files.uid());
  auto file = files.open_file(children_, path, from);
  if (!file && file.error().kind() == ErrorKind::kIo) silent_until_[files.uid()] = Clock::now() + kSilentFor;
  return file;
}

// Asked after opening something by its pid: if it is the sampled process now, it was then.
bool JitRecorder::is_running(const JitProcess& process) const {
  const Result<std::string> text = process::read_proc_file(fmt::format("{}/{}/stat", proc_, process.pid), 4096);
  const auto stat = text ? process::find_stat(*text) : std::nullopt;
  return stat && static_cast<uint32_t>(stat->start_ticks) == process.start_ticks_low;
}

void JitRecorder::copy_map(Sources& sources) {
  if (!sources.map_reader || is_full(sources.uid)) return;
  const auto read = [&]() -> Result<symbolize::PerfMapCounts> {
    if (sources.map.fd) return sources.map_reader->update(sources.map.fd.get(), symbols_);
    const auto file = TRY(open_file(*sources.files, sources.map.path, sources.map_reader->offset()));
    return sources.map_reader->update(file.fd.get(), symbols_);
  }();
  if (read) bytes_[sources.uid] += read->bytes;
  else diagnostics().warn(sources.map.path, "{}", read.error().message());
}

bool JitRecorder::is_full(uint32_t uid) {
  size_t all = 0;
  for (const auto& [user, bytes] : bytes_) all += bytes;
  const size_t most = all >= kMaxBytes ? kMaxBytes : kMaxBytesOfUser;
  const bool full = all >= kMaxBytes || bytes_[uid] >= kMaxBytesOfUser;
  if (full) diagnostics().warn("JIT code", "more than {} MiB of names; the rest is left out", most >> 20);
  return full;
}

bool JitRecorder::has_room(uint32_t uid) const {
  const auto of_user = std::count_if(open_.begin(), open_.end(), [&](const auto& entry) { return entry.second.uid == uid; });
  return open_.size() < kMaxProcesses && static_cast<size_t>(of_user) < kMaxProcesses / 2;
}

Result<void> JitRecorder::copy_dump(const JitProcess& process, const Sources& sources) {
  const std::string& path = sources.dump.path;
  UniqueFd copied;
  if (!sources.dump.fd) copied = TRY(open_file(*sources.files, path, 0)).fd;
  const FileMapping contents = TRY(FileMapping::map(copied ? copied.get() : sources.dump.fd.get(), path));
  const size_t before = symbols_.size();
  const Result<void> read = symbolize::append_jitdump(contents.bytes(), path, sources.pid_inside, process.address_space, symbols_);
  for (size_t i = before; i < symbols_.size(); ++i) bytes_[sources.uid] += symbolize::bytes_of(symbols_[i]);
  return read;
}

void JitRecorder::publish() {
  if (published_ == symbols_.size()) return;
  const std::lock_guard lock(mutex_);
  new_.insert(new_.end(), symbols_.begin() + static_cast<ptrdiff_t>(published_), symbols_.end());
  published_ = symbols_.size();
}

void JitRecorder::copy(const JitProcess& process, Sources& sources) {
  look_for(process, sources, true);
  copy_map(sources);
  if (sources.dump.path.empty() || is_full(sources.uid)) return;
  if (const auto read = copy_dump(process, sources); !read) diagnostics().warn(sources.dump.path, "{}", read.error().message());
}

}  // namespace cicada::ingest
