// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/tracepoints.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>

#include "base/near_names.h"

namespace cicada::bpf_source {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// As mount(2) would, but it is nowhere: it ends with the descriptor.
UniqueFd mount_tracefs() {
  const UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context || ::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return UniqueFd();
  return UniqueFd(static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
}

}  // namespace

Result<Tracepoints> Tracepoints::open() {
  int error = 0;
  for (const char* place : {"/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"}) {
    UniqueFd events(::open(place, kDirectory));
    if (events) return Tracepoints(std::move(events));
    if (errno != ENOENT) error = errno;
  }
  const UniqueFd root = mount_tracefs();
  if (!root && error == 0) error = errno;
  UniqueFd events(root ? ::openat(root.get(), "events", kDirectory) : -1);
  if (events) return Tracepoints(std::move(events));
  if (error == EACCES || error == EPERM)
    return make_error(ErrorKind::kPermission, "tracepoints: not permitted to read which there are; {}", kTracefsRemedy);
  return make_error(ErrorKind::kUnsupported, "tracepoints: this kernel has no file system tracefs (CONFIG_FTRACE), which names them");
}

Result<uint64_t> Tracepoints::id(std::string_view name) const {
  const std::string category(name.substr(0, name.find(':'))), own(name.substr(std::min(category.size() + 1, name.size())));
  const UniqueFd file(::openat(events_.get(), (category + "/" + own + "/id").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno != ENOENT && errno != ENOTDIR) return errno_error(errno, fmt::format("{}: read its number in tracefs", name));
  std::array<char, 24> text{};
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : -1;
  uint64_t id = 0;
  if (got > 0 && std::from_chars(text.data(), text.data() + got, id).ec == std::errc{}) return id;
  const std::vector<std::string> others = list(category);
  const std::string near = others.empty() ? near_names(category, list(".")) : near_names(own, others);
  return make_error(ErrorKind::kNotFound, "{}: this kernel has no {}{}", name, others.empty() ? fmt::format("category {} of tracepoints", category) : fmt::format("tracepoint {} in {}", own, category),
                    near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

std::vector<std::string> Tracepoints::list(const std::string& directory) const {
  std::vector<std::string> names;
  UniqueFd fd(::openat(events_.get(), directory.c_str(), kDirectory));
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(fd ? ::fdopendir(fd.get()) : nullptr, &::closedir);
  if (!opened) return names;
  fd.release();  // it is the directory's now
  while (const dirent* entry = ::readdir(opened.get()))
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  return names;
}

Result<void> find_tracepoints(std::span<EventSpec> events) {
  std::optional<Tracepoints> known;
  for (EventSpec& event : events) {
    if (event.type.kind != EventKind::kTracepoint || event.type.config != 0) continue;
    if (!known) known.emplace(TRY(Tracepoints::open()));
    event.type.config = TRY(known->id(event.type.name));
  }
  return {};
}

}  // namespace cicada::bpf_source
