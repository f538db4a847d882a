// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/probe_list.h"

#include <fnmatch.h>
#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include <fmt/ranges.h>

#include "base/monotonic_clock.h"
#include "bpf_source/event_types.h"
#include "bpf_source/field_name.h"
#include "bpf_source/function_finder.h"
#include "bpf_source/kernel_functions.h"
#include "bpf_source/kernel_places.h"
#include "bpf_source/tracepoints.h"
#include "process/procfs/proc_fs.h"
#include "process/procfs/proc_readers.h"

namespace cicada::bpf_source {
namespace {

constexpr uint64_t kOpeningNs = 5'000'000'000;  // of all files together

bool is_like(const std::string& name, const std::string& pattern) { return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0; }

// Names of files and functions are what strangers wrote.
std::string plain(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return text;
}

class ProbeLister {
 public:
  ProbeLister(const ProbeQuestion& question, std::shared_ptr<ImageReader> reader) : question_(question), reader_(std::move(reader)) {}

  Result<ProbeList> list() {
    std::string_view what = question_.pattern;
    const std::string_view kind = what.substr(0, what.find(':'));
    const auto is_kind = [&](std::string_view name, std::string_view alias) {
      const bool found = what.size() > kind.size() && (kind == name || kind == alias);
      if (found) what.remove_prefix(kind.size() + 1);
      return found;
    };
    const bool tracepoints = is_kind("tracepoint", "t"), kernel = !tracepoints && (is_kind("kprobe", "k") || is_kind("kretprobe", "kr")),
               functions = !tracepoints && !kernel && (is_kind("uprobe", "u") || is_kind("uretprobe", "ur")), usdt = !tracepoints && !kernel && !functions && is_kind("usdt", "usdt"),
               raw = kind == "rawtp" && is_kind("rawtp", "rawtp"), at_return = kind.starts_with("fexit") || kind == "fr", described = is_kind("fentry", "f") || is_kind("fexit", "fr");
    const bool all = !tracepoints && !kernel && !functions && !usdt && !raw && !described;
    const std::string pattern(what);
    if (pattern.empty()) return make_error(ErrorKind::kInvalid, "which probes? A pattern is needed, as in `cicada probes 'sched:*'`");
    if (all) list_events(pattern);
    if (all || tracepoints) TRY(list_tracepoints(pattern, tracepoints));
    if (all || kernel) list_kernel_functions(pattern, kernel);
    if (raw || described) TRY(list_described(pattern, raw, at_return));
    if (all || functions) TRY(list_functions(pattern, functions));
    if (all || usdt) TRY(list_usdt(pattern, usdt));
    return std::move(list_);
  }

 private:
  void add(std::string event, std::string kind, std::string more) {
    ++list_.matches;
    if (list_.probes.size() < question_.most) list_.probes.push_back({plain(std::move(event)), std::move(kind), plain(std::move(more))});
  }

  void list_events(const std::string& pattern) {
    for (const EventType& type : event_types())
      if (is_like(type.name, pattern) || is_like(type.alias, pattern)) add(type.name, "event", type.alias.empty() ? "" : "also " + type.alias);
  }

  Result<void> list_tracepoints(const std::string& pattern, bool only_these) {
    const auto known = Tracepoints::open();
    if (!known && only_these) return known.error();
    if (!known) list_.notes.push_back(known.error().message());
    if (!known) return {};
    const bool has_category = pattern.find(':') != std::string::npos;
    for (const std::string& name : known->names()) {
      if (!is_like(has_category ? name : name.substr(name.find(':') + 1), pattern)) continue;
      // A thousand formats are a second.
      add("t:" + name, "tracepoint", list_.probes.size() < question_.most ? fmt::format("{}", fmt::join(known->fields(name), " ")) : "");
    }
    return {};
  }

  void list_kernel_functions(const std::string& pattern, bool only_these) {
    if (!std::filesystem::exists("/sys/bus/event_source/devices/kprobe")) {
      if (only_these) list_.notes.emplace_back("this kernel has no kprobes (CONFIG_KPROBE_EVENTS): its functions cannot be probed");
      return;
    }
    std::set<std::string> names;
    std::ifstream symbols("/proc/kallsyms");
    for (std::string address, type, name, rest; symbols >> address >> type >> name && std::getline(symbols, rest);) {
      if (type != "t" && type != "T" && type != "w" && type != "W") continue;
      if (is_like(name, pattern) && !is_used_by_programs(name)) names.insert(name);
    }
    for (const std::string& name : names) add("k:" + name, "kernel function", "");
  }

  // What the kernel's types describe.
  Result<void> list_described(const std::string& pattern, bool raw, bool at_return) {
    const KernelTypes types = TRY(KernelTypes::open());
    for (const std::string& name : raw ? types.tracepoints() : types.functions()) {
      if (!is_like(name, pattern) || (!raw && is_used_by_programs(name))) continue;
      std::string more;
      if (list_.probes.size() < question_.most) {
        const KernelSignature signature = (raw ? types.find_tracepoint(name) : types.find_function(name)).value_or(KernelSignature{});
        for (size_t i = 0; i < signature.arguments.size(); ++i) {
          const KernelArgument& argument = signature.arguments[i];
          more += fmt::format("{}{}{}{}", more.empty() ? "" : ", ", argument.type, argument.type.ends_with('*') ? "" : " ", argument.name.empty() ? fmt::format("arg{}", i) : argument.name);
        }
        if (at_return && signature.result) more += fmt::format("{}{} retval", more.empty() ? "" : ", ", signature.result->type);
      }
      add(fmt::format("{}:{}", raw ? "rawtp" : at_return ? "fr" : "f", name), raw ? "raw tracepoint" : "kernel function", std::move(more));
    }
    return {};
  }

  Result<void> list_functions(const std::string& pattern, bool only_these) {
    FunctionPlace place;
    PlaceError error;
    if (!parse_function_place(pattern, place, error)) {
      if (only_these) return make_error(ErrorKind::kInvalid, "{}: column {}: {}", pattern, error.at + 1, error.message);
      return {};
    }
    if (place.image.empty() && question_.pids.empty()) {
      if (list_.probes.empty()) list_.notes.push_back(fmt::format("functions of programs: -p PID, or with a file's name: u:libc:{}", place.function));
      return {};
    }
    for (const FunctionFinder::Found& one : TRY(look_into_files("u:" + pattern, place, only_these))) {
      for (const FunctionFinder::Place& each : one.places) {
        const std::string at = fmt::format("at {:#x}", each.offset.value);
        add(fmt::format("u:{}:{}", quoted(one.path), place.is_line ? place.function : each.function), "function", place.is_line ? fmt::format("in {}, {}", each.function, at) : at);
      }
    }
    return {};
  }

  Result<void> list_usdt(const std::string& pattern, bool only_these) {
    FunctionPlace place;
    PlaceError error;
    if (!parse_usdt_place(pattern, place, error)) {
      if (only_these) return make_error(ErrorKind::kInvalid, "{}: column {}: {}", pattern, error.at + 1, error.message);
      return {};
    }
    if (place.image.empty() && question_.pids.empty()) {
      if (only_these) list_.notes.push_back(fmt::format("USDT probes: -p PID, or with a file's name: usdt:libc:{}", place.function));
      return {};
    }
    for (const FunctionFinder::Found& one : TRY(look_into_files("usdt:" + pattern, std::move(place), only_these))) {
      std::map<std::string, std::vector<const FunctionFinder::Place*>> by_name;
      for (const FunctionFinder::Place& each : one.places) by_name[each.function].push_back(&each);
      for (const auto& [name, places] : by_name) {
        std::string more = fmt::format("{} place{}", places.size(), places.size() == 1 ? "" : "s");
        for (size_t i = 0; i < places.front()->arguments.size(); ++i) {
          const event_field& argument = places.front()->arguments[i];
          more += argument.bytes == 0 ? fmt::format(" (arg{})", i) : fmt::format(" {}{}(arg{})", argument.is_signed != 0 ? 's' : 'u', 8 * argument.bytes, i);
        }
        add(fmt::format("usdt:{}:{}", quoted(one.path), name), "USDT probe", std::move(more));
      }
    }
    return {};
  }

  static std::string quoted(const std::string& path) { return path.find_first_of(":\"\\") != std::string::npos ? fmt::format("\"{}\"", path) : path; }

  Result<std::vector<FunctionFinder::Found>> look_into_files(std::string name, FunctionPlace place, bool only_these) {
    if (place.image.find('/') != std::string::npos) place.image = std::filesystem::absolute(place.image).lexically_normal();
    process::ImageRegistry images(process::ImageRegistry::Options{.opener = {.readers = readers_}});
    std::vector<uint32_t> wanted = TRY(resolve(place, images));
    FunctionFinder finder({{std::move(name), std::move(place), false}}, question_.pids.empty(), images, reader_);
    std::vector<FunctionFinder::Found> found;
    const auto take = [&](std::vector<FunctionFinder::Found> more) {
      for (FunctionFinder::Found& one : more) found.push_back(std::move(one));
    };
    for (const uint32_t image : wanted) {
      auto some = finder.look_into(image, {});
      if (some) take(*std::move(some));
      else list_.notes.push_back(plain(some.error().message()));
    }
    take(finder.look_into_paths({}));
    if (found.empty() && only_these) list_.notes.push_back(plain(finder.nothing_found(0).message()));
    for (const std::string& line : finder.warnings())
      if (!found.empty()) list_.notes.push_back(plain(line));
    return found;
  }

  // The images that the pattern may mean, once they are open.
  Result<std::vector<uint32_t>> resolve(const FunctionPlace& place, process::ImageRegistry& images) {
    std::vector<Pid> pids = question_.pids;
    if (pids.empty()) pids = TRY(process::list_processes());
    std::set<uint32_t> wanted;
    for (const Pid pid : pids) {
      const auto maps = readers_->read_maps(process::owner_of(pid), std::span(&pid, 1));
      if (maps.empty() || !maps[0]) continue;
      for (const process::MapsEntry& entry : maps[0]->entries) {
        if (entry.path.starts_with('[') || !is_meant(place, entry.path)) continue;
        const auto bound = images.resolve({entry.file, pid, entry.range, entry.offset, entry.path, entry.deleted});
        if (bound.image != 0) wanted.insert(bound.image);
      }
    }
    std::set<uint32_t> opening = wanted;
    for (const uint64_t until_ns = monotonic_ns() + kOpeningNs; !opening.empty() && monotonic_ns() < until_ns;) {
      pollfd ready{images.ready_fd(), POLLIN, 0};
      ::poll(&ready, 1, 100);
      for (const uint32_t image : images.take_ready()) opening.erase(image);
    }
    return std::vector<uint32_t>(wanted.begin(), wanted.end());
  }

  const ProbeQuestion& question_;
  const std::shared_ptr<ImageReader> reader_;
  const std::shared_ptr<process::ProcReaders> readers_ = std::make_shared<process::ProcReaders>(process::ProcReaders::Options{});
  ProbeList list_;
};

}  // namespace

Result<ProbeList> list_probes(const ProbeQuestion& question, std::shared_ptr<ImageReader> reader) { return ProbeLister(question, std::move(reader)).list(); }

}  // namespace cicada::bpf_source
