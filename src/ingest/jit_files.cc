// SPDX-License-Identifier: Apache-2.0
#include "ingest/jit_files.h"

#include <algorithm>

#include "base/diagnostics.h"
#include "base/file_mapping.h"
#include "process/procfs/proc_fs.h"

namespace cicada::ingest {
namespace {

constexpr size_t kMaxMapsBytes = 4 << 20;  // 30,000 mappings

}  // namespace

Result<process::ProcessFiles::File> JitFileAccess::open(const process::ProcessFiles& files, const std::string& path, uint64_t from,
                                                        const std::stop_token& stop) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(silent_until_, [now = Clock::now()](const auto& entry) { return entry.second < now; });
    if (silent_until_.contains(files.uid()))
      return make_error(ErrorKind::kNotFound, "{}: another file of user {} was not answered for", path, files.uid());
  }
  auto file = files.open_file(children_, path, from, stop);
  if (!file && file.error().kind() == ErrorKind::kIo && !stop.stop_requested()) {
    const std::lock_guard lock(mutex_);
    silent_until_[files.uid()] = Clock::now() + kSilentFor;
  }
  return file;
}

void JitFiles::read(bool last, const std::stop_token& stop) {
  const auto now = Clock::now();
  if (!map_ && (last || now >= next_look_)) {
    next_look_ = now + retry_;
    retry_ = std::min<Clock::duration>(2 * retry_, kSlowestRetry);
    look_for(last, stop);
  }
  if (last || now >= next_read_) {
    next_read_ = now + kReadEvery;
    copy_map(stop);
  }
  if (last) copy_dump(stop);
}

// A refused file has been reported by whoever refused it. Who writes a map has names; of others a dump that is not mapped (any more) is looked
// for where it is put, once.
void JitFiles::look_for(bool last, const std::stop_token& stop) {
  if (!files_) {
    auto files = process::ProcessFiles::open(process_.pid, proc_);
    if (!files) {
      if (files.error().kind() == ErrorKind::kPermission) diagnostics().warn("JIT code", "{}", files.error().message());
      return;
    }
    if (!is_running()) return;
    pid_inside_ = files->pid_inside();
    uid_ = files->uid();
    files_.emplace(*std::move(files));
  }
  if (!dump_) {
    const auto maps = access_.readers().read_file(uid_, fmt::format("{}/{}/maps", proc_, process_.pid), kMaxMapsBytes, stop);
    const auto path = maps ? symbolize::find_jitdump(*maps, pid_inside_) : std::nullopt;
    if (path && is_running()) dump_ = open(*path, stop);
  }
  map_ = open(fmt::format("/tmp/perf-{}.map", pid_inside_), stop);
  for (const char* directory : {"", "/tmp/"})
    if (last && !map_ && !dump_) dump_ = open(fmt::format("{}jit-{}.dump", directory, pid_inside_), stop);
  if (!map_) return;
  map_reader_.emplace(map_->path, process_.address_space);
  if (map_->fd && (!dump_ || dump_->fd)) files_.reset();
}

std::optional<JitFiles::File> JitFiles::open(const std::string& path, const std::stop_token& stop) {
  auto file = access_.open(*files_, path, 0, stop);
  if (!file) {
    if (file.error().kind() != ErrorKind::kNotFound) diagnostics().warn(path, "{}", file.error().message());
    return std::nullopt;
  }
  return File{path, file->is_copy ? UniqueFd() : std::move(file->fd)};
}

// Asked after opening something by its pid: if it is the sampled process now, it was then.
bool JitFiles::is_running() const {
  const Result<std::string> text = process::read_proc_file(fmt::format("{}/{}/stat", proc_, process_.pid), 4096);
  const auto stat = text ? process::find_stat(*text) : std::nullopt;
  return stat && static_cast<uint32_t>(stat->start_ticks) == process_.start_ticks_low;
}

void JitFiles::copy_map(const std::stop_token& stop) {
  if (!map_ || names_.is_full(uid_)) return;
  std::vector<symbolize::JitSymbol> symbols;
  const auto read = [&]() -> Result<symbolize::PerfMapCounts> {
    if (map_->fd) return map_reader_->update(map_->fd.get(), symbols);
    const auto file = TRY(access_.open(*files_, map_->path, map_reader_->offset(), stop));
    return map_reader_->update(file.fd.get(), symbols);
  }();
  if (!read) diagnostics().warn(map_->path, "{}", read.error().message());
  names_.add(uid_, std::move(symbols));
}

void JitFiles::copy_dump(const std::stop_token& stop) {
  if (!dump_ || names_.is_full(uid_)) return;
  std::vector<symbolize::JitSymbol> symbols;
  const auto read = [&]() -> Result<void> {
    UniqueFd copied;
    if (!dump_->fd) copied = TRY(access_.open(*files_, dump_->path, 0, stop)).fd;
    const FileMapping contents = TRY(FileMapping::map(copied ? copied.get() : dump_->fd.get(), dump_->path));
    return symbolize::append_jitdump(contents.bytes(), dump_->path, pid_inside_, process_.address_space, symbols, [&] { contents.drop_pages(); });
  }();
  if (!read) diagnostics().warn(dump_->path, "{}", read.error().message());
  names_.add(uid_, std::move(symbols));
}

}  // namespace cicada::ingest
