// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/function_probes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include "base/diagnostics.h"
#include "base/file_mapping.h"
#include "base/monotonic_clock.h"
#include "base/near_names.h"
#include "bpf_source/indirect_functions.h"
#include "bpf_source/probed_instruction.h"
#include "bpf_source/uprobe_links.h"

namespace cicada::bpf_source {
namespace {

// Of files that no process maps: the registry has no number for them.
constexpr uint32_t kFirstOwnNumber = 1U << 30;
constexpr size_t kMostNames = 3;  // in a message

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// At an offset of the file; shorter at its end.
std::vector<uint8_t> read_code(int fd, FileOffset offset) {
  std::vector<uint8_t> code(kMaxInstructionBytes);
  const ssize_t size = ::pread(fd, code.data(), code.size(), static_cast<off_t>(offset.value));
  code.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return code;
}

// "a, b"; a comma of C++'s is within brackets.
void append_names(std::string_view list, std::vector<std::string>& names) {
  int open = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    open += c == '(' || c == '<' ? 1 : c == ')' || c == '>' ? -1 : 0;
    if (c != ',' || (open > 0 && i < list.size())) continue;
    const std::string_view name = list.substr(begin, i - begin);
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
    begin = i + 2;
  }
}

// What is read of a file that is far away is a copy, and nobody runs that.
bool is_copy(int fd, std::string_view path) {
  std::array<char, 64> target{};
  const ssize_t size = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target.data(), target.size());
  return size > 0 && std::string_view(target.data(), static_cast<size_t>(size)).starts_with("/memfd:") && !path.starts_with("/memfd:");
}

}  // namespace

bool FunctionProbes::is_wanted(const Event& event, const std::string& path) const { return is_meant(event.place, path) && !path.starts_with('['); }

Result<bool> FunctionProbes::begins_instruction(const process::ImageInfo& image, int fd, FileOffset function, uint64_t offset) const {
  const Result<void> checked = reader_->check_instruction(image, fd, function, offset, {});
  if (!checked && checked.error().kind() != ErrorKind::kInvalid) return checked.error();
  return static_cast<bool>(checked);
}

Result<void> FunctionProbes::look_into(const process::ImageInfo& image, std::vector<Found>& found, Files& files) {
  std::vector<size_t> wanted;
  std::vector<std::string> patterns;
  for (size_t i = 0; i < events_.size(); ++i) {
    if (!is_wanted(events_[i], image.path)) continue;
    wanted.push_back(i);
    patterns.push_back(events_[i].place.function);
  }
  if (wanted.empty()) return {};
  UniqueFd fd = image.id < kFirstOwnNumber ? TRY(images_.open(image.id)) : TRY(open_regular(image.path));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return errno_error(errno, image.path);
  const symbolize::FunctionSearch search = TRY(reader_->find_functions(image, fd.get(), patterns, kMostPlaces + 1, {}));
  if (search.cut_short) diagnostics().warn(image.path, "it has so many symbols that not all were looked at for functions to probe");
  for (size_t k = 0; k < wanted.size(); ++k) {
    const Event& event = events_[wanted[k]];
    Found& all = found[wanted[k]];
    ++all.images;
    all.is_go = all.is_go || search.is_go;
    if (k < search.near.size()) append_names(search.near[k], all.near);
    File file{wanted[k], image.path, UniqueFd(), {}, {}};
    for (const symbolize::FoundFunction& function : search.functions) {
      if (function.pattern != k) continue;
      ++all.matches;
      FileOffset begin = function.offset;
      bool is_chosen = function.indirect;
      if (is_chosen && event.place.offset == 0) {
        if (const auto leads_to = find_indirect_function(status, std::string(file_name(image.path)), function.name)) {
          begin = *leads_to;
          is_chosen = false;
        }
      }
      FileOffset offset = begin + event.place.offset;
      const std::vector<uint8_t> code = read_code(fd.get(), offset);
      if (is_chosen) {
        ++all.indirect;
        all.indirect_name = function.name;
      } else if (event.needs_arguments && function.changed_arguments) {
        ++all.changed;
        all.changed_name = function.name;
      } else if (event.place.offset != 0 && !TRY(begins_instruction(image, fd.get(), begin, event.place.offset))) {
        ++all.within;
        all.within_name = function.name;
      } else if (is_taken_for_a_jump(code)) {
        ++all.unsafe;
        all.unsafe_name = function.name;
      } else {
        if (event.place.offset == 0 && !event.place.at_return) offset = offset + bytes_of_landing_pad(code);
        file.offsets.push_back(offset);
      }
    }
    if (file.offsets.empty() || (event.place.at_return && search.is_go)) continue;
    if (is_copy(fd.get(), image.path)) return make_error(ErrorKind::kUnsupported, "{}: its functions cannot be probed: it is on a file system that is far away", image.path);
    if (!known_.insert({wanted[k], status.st_dev, status.st_ino}).second) continue;
    std::sort(file.offsets.begin(), file.offsets.end());
    file.offsets.erase(std::unique(file.offsets.begin(), file.offsets.end()), file.offsets.end());
    file.fd = UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!file.fd) return errno_error(errno, image.path);
    files.push_back(std::move(file));
  }
  return {};
}

// Files that are named by path and that nobody maps yet.
Result<void> FunctionProbes::look_into_paths(std::vector<Found>& found, Files& files) {
  uint32_t number = kFirstOwnNumber;
  for (size_t i = 0; i < events_.size(); ++i) {
    const std::string& path = events_[i].place.image;
    if (found[i].images != 0 || path.find('/') == std::string::npos) continue;
    process::ImageInfo image;
    image.id = number++;
    image.path = path;
    TRY(look_into(image, found, files));
  }
  return {};
}

Error FunctionProbes::nothing_found(const Event& event, const Found& found) const {
  const std::string& function = event.place.function;
  if (found.images == 0) {
    return make_error(ErrorKind::kNotFound, "{}: {} maps no file called {}; one that is loaded later needs its path", event.name, options_.whole_machine ? "no process" : "what is recorded", event.place.image);
  }
  if (found.is_go && event.place.at_return) return make_error(ErrorKind::kUnsupported, "{}: it is a Go program, which a probe of a return would crash when its stack moves", event.name);
  if (found.indirect != 0) return make_error(ErrorKind::kUnsupported, "{}: {} is chosen from several when a program starts (IFUNC); name the one that it runs", event.name, found.indirect_name);
  if (found.changed != 0) return make_error(ErrorKind::kUnsupported, "{}: the compiler has changed the arguments of {}; without arg0 and so on it can be probed", event.name, found.changed_name);
  if (found.within != 0) return make_error(ErrorKind::kInvalid, "{}: no instruction of {} begins {} bytes behind its begin", event.name, found.within_name, event.place.offset);
  if (found.unsafe != 0) return make_error(ErrorKind::kUnsupported, "{}: {} begins with a vector instruction that the kernel would take for a jump", event.name, found.unsafe_name);
  const std::string where = event.place.image.empty() ? fmt::format("the {} files that what is recorded maps", found.images) : event.place.image;
  const std::string near = found.near.size() > kMostNames ? near_names(function, found.near) : fmt::format("{}", fmt::join(found.near, ", "));
  return make_error(ErrorKind::kNotFound, "{}: no function {} in {}{}", event.name, function, where, near.empty() ? "" : "; did you mean " + near + "?");
}

Result<void> FunctionProbes::find() {
  const uint64_t began_ns = monotonic_ns();
  for (const Event& event : events_) {
    if (options_.whole_machine && event.place.image.empty())
      return make_error(ErrorKind::kInvalid, "{}: of the whole machine a program or library has to be named, as in u:libc:malloc", event.name);
  }
  std::vector<Found> found(events_.size());
  for (uint32_t id = 1;; ++id) {
    const auto image = images_.find(id);
    if (!image) break;
    {
      const std::lock_guard lock(mutex_);
      noted_.insert(id);
    }
    // One of many that cannot be read leaves the others.
    if (const Result<void> looked = look_into(*image, found, files_); !looked) diagnostics().info(image->path, "no function of it is probed: {}", looked.error().message());
  }
  TRY(look_into_paths(found, files_));
  const size_t all = places(), most = options_.multi ? kMostPlaces : kMostSinglePlaces;
  if (all > most) return make_error(ErrorKind::kLimit, "{}: {} places, {} at most{}", events_.front().name, all, most, options_.multi ? "" : " (Linux 6.6 and later attach more)");
  for (size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    if (std::none_of(files_.begin(), files_.end(), [&](const File& file) { return file.event == i; })) return nothing_found(event, found[i]);
    if (found[i].indirect != 0) warnings_.push_back(fmt::format("{}: {} functions are left out that are chosen when a program starts (IFUNC), as {}", event.name, found[i].indirect, found[i].indirect_name));
    if (found[i].unsafe != 0) warnings_.push_back(fmt::format("{}: {} functions are left out whose first instruction the kernel would take for a jump, as {}", event.name, found[i].unsafe, found[i].unsafe_name));
    if (found[i].within != 0) warnings_.push_back(fmt::format("{}: {} functions are left out that have no instruction there, as {}", event.name, found[i].within, found[i].within_name));
    if (found[i].changed != 0) warnings_.push_back(fmt::format("{}: {} functions are left out whose arguments the compiler has changed, as {}", event.name, found[i].changed, found[i].changed_name));
  }
  finding_ns_ = monotonic_ns() - began_ns;
  return {};
}

Result<void> FunctionProbes::attach(File& file) {
  const Event& event = events_[file.event];
  auto attached = attach_uprobes(options_.program_fd, options_.multi, {file.fd.get(), file.offsets, event.place.at_return}, event.cookie);
  if (!attached) return make_error(attached.error().kind(), "{}: {}: {}", event.name, file.path, attached.error().message());
  file.links = std::move(attached->links);
  for (const FileOffset refused : attached->refused) std::erase(file.offsets, refused);
  const std::lock_guard lock(mutex_);
  if (!attached->refused.empty()) warnings_.push_back(fmt::format("{}: the kernel cannot probe the first instruction of {} functions of {}", event.name, attached->refused.size(), file_name(file.path)));
  diagnostics().info(event.name, "attached to {} places of {}", file.offsets.size(), file.path);
  return {};
}

Result<void> FunctionProbes::attach() {
  const uint64_t began_ns = monotonic_ns();
  for (File& file : files_) {
    if (const Result<void> attached = attach(file); !attached) {
      detach();
      return attached.error();
    }
  }
  attaching_ns_ = monotonic_ns() - began_ns;
  thread_ = std::jthread([this](const std::stop_token& stop) { follow(stop); });
  return {};
}

void FunctionProbes::detach() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  const uint64_t began_ns = monotonic_ns();
  for (File& file : files_) file.links.clear();
  detaching_ns_ = std::max(detaching_ns_, monotonic_ns() - began_ns);
}

void FunctionProbes::note_image(uint32_t image) {
  {
    const std::lock_guard lock(mutex_);
    if (!noted_.insert(image).second) return;
    waiting_.push_back(image);
  }
  came_.notify_one();
}

void FunctionProbes::follow(const std::stop_token& stop) {
  for (;;) {
    std::vector<uint32_t> images;
    {
      std::unique_lock lock(mutex_);
      if (!came_.wait(lock, stop, [&] { return !waiting_.empty(); })) return;
      images.swap(waiting_);
    }
    for (const uint32_t id : images) {
      const auto image = images_.find(id);
      if (stop.stop_requested() || !image) continue;
      std::vector<Found> found(events_.size());
      Files files;
      Result<void> done = look_into(*image, found, files);
      for (File& file : files) {
        if (!done) break;
        const size_t most = options_.multi ? kMostPlaces : kMostSinglePlaces;
        if (places() + file.offsets.size() > most) done = make_error(ErrorKind::kLimit, "{}: more than {} places", events_[file.event].name, most);
        else done = attach(file);
        const std::lock_guard lock(mutex_);
        if (done) files_.push_back(std::move(file));
      }
      const std::lock_guard lock(mutex_);
      if (!done) warnings_.push_back(fmt::format("{}, which was mapped later, is not probed: {}", file_name(image->path), done.error().message()));
    }
  }
}

size_t FunctionProbes::places() const {
  const std::lock_guard lock(mutex_);
  size_t all = 0;
  for (const File& file : files_) all += file.offsets.size();
  return all;
}

std::string FunctionProbes::statistics() const {
  const auto ms = [](uint64_t ns) { return static_cast<double>(ns) * 1e-6; };
  return fmt::format("functions: {} places in {} files found in {:.0f} ms, attached in {:.0f} ms, detached in {:.0f} ms", places(), files_.size(), ms(finding_ns_), ms(attaching_ns_), ms(detaching_ns_));
}

std::vector<std::string> FunctionProbes::warnings() const {
  const std::lock_guard lock(mutex_);
  return warnings_;
}

}  // namespace cicada::bpf_source
