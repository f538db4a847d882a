// SPDX-License-Identifier: Apache-2.0
#include "ingest/jit_recorder.h"

#include <sys/prctl.h>
#include <unistd.h>

#include "base/diagnostics.h"
#include "process/procfs/proc_fs.h"

namespace cicada::ingest {
namespace {

constexpr size_t kMaxMountinfoBytes = 1 << 20;

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
  bool last_turn = false;
  auto next_copy = std::chrono::steady_clock::now() + kCopyEvery;
  while (!last_turn) {
    std::vector<JitProcess> sampled;
    std::vector<Pid> exited;
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, stop, kRetry, [this] { return !sampled_.empty() || !exited_.empty(); });
      std::swap(sampled, sampled_);
      std::swap(exited, exited_);
      last_turn = stop.stop_requested();
    }
    for (const JitProcess& process : sampled) {
      if (open_.size() < kMaxProcesses) {
        open_.try_emplace(process);
      } else if (!open_.contains(process)) {
        diagnostics().warn("generated code", "more than {} processes run generated code; that of the others has no names", kMaxProcesses);
      }
    }
    for (auto& [process, sources] : open_) open(process, sources);
    if (const auto now = std::chrono::steady_clock::now(); now >= next_copy) {
      next_copy = now + kCopyEvery;
      for (auto& [process, sources] : open_) copy_map(sources);
      publish();
    }
    for (const Pid pid : exited) {
      for (auto at = open_.lower_bound({pid, 0, 0}); at != open_.end() && at->first.pid == pid;) {
        copy(at->second);
        at = open_.erase(at);
      }
    }
  }
  const auto deadline = std::chrono::steady_clock::now() + kFinishPatience;
  for (auto& [process, sources] : open_) {
    if (std::chrono::steady_clock::now() > deadline) {
      diagnostics().warn("generated code", "the maps of generated code take too long to read; some of it has no names");
      break;
    }
    copy(sources);
  }
  open_.clear();
}

// Sources that are open already are left alone. A refused file has been reported by whoever refused it.
void JitRecorder::open(const JitProcess& process, Sources& sources) const {
  if (sources.map && sources.dump) return;
  if (!sources.target && !sources.map) {
    auto target = open_target(process, sources);
    if (!target || !is_running(process)) return;
    sources.target.emplace(std::move(*target));
  }
  if (!sources.dump && sources.target) {
    auto dump = symbolize::JitdumpFile::open(*sources.target, process.address_space, proc_);
    if (dump && is_running(process)) sources.dump.emplace(std::move(*dump));
  }
  if (!sources.map) {
    if (auto map = symbolize::PerfMapFile::open(*sources.target, process.address_space)) sources.map.emplace(std::move(*map));
  }
  if (sources.map) sources.target.reset();
}

Result<symbolize::Target> JitRecorder::open_target(const JitProcess& process, Sources& sources) const {
  symbolize::Target target = TRY(symbolize::Target::open(process.pid, proc_));
  if (const auto text = process::read_proc_file(fmt::format("{}/{}/mountinfo", proc_, process.pid), kMaxMountinfoBytes)) {
    sources.mounts = std::make_shared<const process::MountTable>(*text);
  }
  target.ask_first([this, mounts = sources.mounts, root = target.root()](const std::string& path) -> Result<void> {
    for (const process::MountPoint& mount : mounts->on_the_way_to(path))
      TRY(file_systems_.ask(mount.device, root.outside_path(mount.path)));
    return {};
  });
  return target;
}

Result<void> JitRecorder::ask_again(const Sources& sources, const std::string& name, int fd) const {
  const auto mounts = sources.mounts->on_the_way_to(name);
  if (mounts.empty()) return {};
  return file_systems_.ask(mounts.back().device, fmt::format("/proc/{}/fd/{}", ::getpid(), fd));
}

// Asked after opening something by its pid: if it is the sampled process now, it was then.
bool JitRecorder::is_running(const JitProcess& process) const {
  const Result<std::string> text = process::read_proc_file(fmt::format("{}/{}/stat", proc_, process.pid), 4096);
  const auto stat = text ? process::find_stat(*text) : std::nullopt;
  return stat && static_cast<uint32_t>(stat->start_ticks) == process.start_ticks_low;
}

void JitRecorder::copy_map(Sources& sources) {
  if (!sources.map) return;
  if (const auto asked = ask_again(sources, sources.map->name(), sources.map->fd()); !asked) {
    diagnostics().warn(sources.map->name(), "{}", asked.error().message());
    return;
  }
  if (const auto read = sources.map->update(symbols_); !read) diagnostics().warn(sources.map->name(), "{}", read.error().message());
}

void JitRecorder::publish() {
  if (published_ == symbols_.size()) return;
  const std::lock_guard lock(mutex_);
  new_.insert(new_.end(), symbols_.begin() + static_cast<ptrdiff_t>(published_), symbols_.end());
  published_ = symbols_.size();
}

void JitRecorder::copy(Sources& sources) {
  copy_map(sources);
  if (sources.dump) {
    auto read = ask_again(sources, sources.dump->name(), sources.dump->fd());
    if (read) read = sources.dump->append_to(symbols_);
    if (!read) diagnostics().warn(sources.dump->name(), "{}", read.error().message());
  }
}

}  // namespace cicada::ingest
