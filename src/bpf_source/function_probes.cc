// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/function_probes.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "abi/event_cookie.h"
#include "base/diagnostics.h"
#include "base/monotonic_clock.h"
#include "base/parallel.h"
#include "bpf_source/uprobe_links.h"

namespace cicada::bpf_source {
namespace {

constexpr size_t kMostWarnings = 20;
constexpr unsigned kDetachingThreads = 16;
constexpr std::chrono::milliseconds kWait{1}, kPause{20};
constexpr uint64_t kMostWaitNs = 3'000'000'000;  // for files that are being opened, when recording begins

std::vector<FunctionFinder::Event> whats(const std::vector<FunctionProbes::Event>& events) {
  std::vector<FunctionFinder::Event> all;
  for (const FunctionProbes::Event& event : events) all.push_back(event.what);
  return all;
}

}  // namespace

FunctionProbes::FunctionProbes(const Options& options, std::vector<Event> events, process::ImageRegistry& images, std::shared_ptr<ImageReader> reader)
    : options_(options), finder_(whats(events), options.whole_machine, images, std::move(reader)), images_(images) {
  for (const Event& event : events) cookies_.push_back(event.cookie);
}

size_t FunctionProbes::most_places() const { return options_.multi ? FunctionFinder::kMostPlaces : kMostSinglePlaces; }

void FunctionProbes::warn(std::string warning) {
  const std::lock_guard lock(mutex_);
  if (warnings_.size() < kMostWarnings) warnings_.push_back(std::move(warning));
  else if (warnings_.size() == kMostWarnings) warnings_.emplace_back("more about functions is left out here; `-v` says all");
}

void FunctionProbes::look_into_now(uint32_t image, const std::string& path, uint64_t deadline_ns) {
  while (finder_.is_any_meant(path) && images_.is_opening(image) && monotonic_ns() < deadline_ns) std::this_thread::sleep_for(kWait);
  auto found = finder_.look_into(image, {});
  // One that is still being opened is published, and noted, when it is open.
  if (!found && found.error().kind() == ErrorKind::kGone) return;
  if (!found) diagnostics().info(path, "no function of it is probed: {}", found.error().message());
  for (size_t i = 0; found && i < found->size(); ++i) found_.push_back(std::move((*found)[i]));
  looked_into_.insert(image);
  const std::lock_guard lock(mutex_);
  noted_.insert(image);
  std::erase(waiting_, image);
}

Result<void> FunctionProbes::find(const std::set<std::string>& inherited) {
  const uint64_t began_ns = monotonic_ns();
  const std::vector<FunctionFinder::Event>& events = finder_.events();
  for (const FunctionFinder::Event& event : events) {
    if (options_.whole_machine && event.place.image.empty())
      return make_error(ErrorKind::kInvalid, "{}: of the whole machine a program or library has to be named, as in u:libc:malloc", event.name);
  }
  std::vector<std::pair<uint32_t, std::string>> later;
  for (uint32_t& id = next_image_; const auto image = images_.find(id); ++id) {
    if (inherited.contains(image->path)) later.emplace_back(id, image->path);
    else look_into_now(id, image->path, began_ns + kMostWaitNs);
  }
  for (Found& one : finder_.look_into_paths({})) found_.push_back(std::move(one));
  for (size_t i = 0; i < events.size(); ++i) {
    if (std::none_of(found_.begin(), found_.end(), [&](const Found& one) { return one.event == i; })) return finder_.nothing_found(i);
  }
  for (const auto& [id, path] : later) look_into_now(id, path, began_ns + kMostWaitNs);
  size_t places = 0;
  for (const Found& one : found_) places += one.places.size();
  if (places > most_places()) return make_error(ErrorKind::kLimit, "{}: {} places, {} at most{}", events.front().name, places, most_places(), options_.multi ? "" : " (Linux 6.6 and later attach more)");
  finding_ns_ = monotonic_ns() - began_ns;
  return {};
}

Result<void> FunctionProbes::attach(const Found& found) {
  const std::string& name = name_of(found);
  for (; known_fields_ < finder_.place_fields().size(); ++known_fields_) TRY(options_.set_place_fields(known_fields_, finder_.place_fields()[known_fields_]));
  std::vector<UprobePlace> all;
  for (const FunctionFinder::Place& place : found.places) all.push_back({place.offset, place.semaphore, place_cookie(cookies_[found.event], found.role, place.number)});
  auto attached = attach_uprobes(options_.program_fd, options_.multi, {found.fd.get(), all, found.by_kernel});
  if (!attached) return make_error(attached.error().kind(), "{}: {}: {}", name, found.path, attached.error().message());
  if (!attached->refused.empty()) {
    const auto first = std::find_if(found.places.begin(), found.places.end(), [&](const FunctionFinder::Place& place) { return place.offset == attached->refused.front(); });
    warn(fmt::format("{}: {}: the kernel cannot probe {} of its instructions, as in {}", name, found.path, attached->refused.size(), first->function));
  }
  const size_t places = all.size() - attached->refused.size();
  diagnostics().info(name, "attached to {} places of {}", places, found.path);
  const std::lock_guard lock(mutex_);
  places_ += places;
  ++files_;
  for (UniqueFd& link : attached->links) (found.role == ROLE_RETURN || found.role == ROLE_RETURNED ? return_links_ : links_).push_back(std::move(link));
  return {};
}

Result<void> FunctionProbes::attach() {
  const uint64_t began_ns = monotonic_ns();
  std::vector<bool> is_attached(finder_.events().size());
  std::vector<std::pair<size_t, Error>> failed;
  for (const Found& one : found_) {
    if (const Result<void> done = attach(one)) is_attached[one.event] = true;
    else failed.emplace_back(one.event, done.error());
  }
  found_.clear();
  for (const auto& [event, error] : failed) {
    if (!is_attached[event]) {
      detach();
      return error;
    }
    warn(error.message());
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
  // Each waits some 50 ms for the kernel, and most of that beside others. Begins first: no call begins any more whose return is not seen.
  for (std::vector<UniqueFd>* links : {&links_, &return_links_}) {
    for_each_parallel(links->size(), kDetachingThreads, [&](size_t i) { (*links)[i].reset(); });
    links->clear();
  }
  detaching_ns_ = std::max(detaching_ns_, monotonic_ns() - began_ns);
}

std::string FunctionProbes::text_of_unseen() const {
  size_t unseen = 0;
  std::string first;
  for (uint32_t id = 1; const auto image = images_.find(id); ++id) {
    const bool is_program = image->kind != profile::ImageKind::kUnknown || images_.is_opening(id);
    if (!is_program || looked_into_.contains(id) || !finder_.is_any_wanting(image->path)) continue;
    if (unseen++ == 0) first = image->path;
  }
  if (unseen == 0) return {};
  return fmt::format("{} mapped too late to look for functions in {}, as {}: what was called there is not counted; if a file's path names it, it is", unseen == 1 ? "1 file was" : fmt::format("{} files were", unseen), unseen == 1 ? "it" : "them", first);
}

void FunctionProbes::note_image(uint32_t image) {
  {
    const std::lock_guard lock(mutex_);
    if (!noted_.insert(image).second) return;
    waiting_.push_back(image);
  }
  came_.notify_one();
}

void FunctionProbes::look_into_later(uint32_t image, const std::stop_token& stop) {
  auto found = finder_.look_into(image, stop);
  if (stop.stop_requested()) return;
  looked_into_.insert(image);
  if (!found) {
    warn(fmt::format("{}, which was mapped later, is not probed: {}", images_.find(image)->path, found.error().message()));
    return;
  }
  std::optional<size_t> said;  // of an event once
  for (const Found& one : *found) {
    const auto places = [&] {
      const std::lock_guard lock(mutex_);
      return places_;
    }();
    const Result<void> done = places + one.places.size() > most_places() ? make_error(ErrorKind::kLimit, "{}: {}: more than {} places", name_of(one), one.path, most_places()) : attach(one);
    if (!done) {
      warn(fmt::format("mapped later and not probed: {}", done.error().message()));
    } else if (said != one.event) {
      const bool is_path = finder_.events()[one.event].place.image.starts_with('/');
      warn(fmt::format("{}: {} was found while the recording went on: what was called there before is not counted{}", name_of(one), one.path, is_path ? "" : "; if its path names it, it is"));
      said = one.event;
    }
  }
}

// Who runs for a moment only has ended before its file is open, and then nobody publishes what it mapped: so new images are looked for, too.
void FunctionProbes::follow(const std::stop_token& stop) {
  std::set<uint32_t> opening;
  while (!stop.stop_requested()) {
    std::vector<uint32_t> images;
    {
      std::unique_lock lock(mutex_);
      came_.wait_for(lock, stop, kPause, [&] { return !waiting_.empty(); });
      images.swap(waiting_);
    }
    for (; images_.find(next_image_); ++next_image_) opening.insert(next_image_);
    std::erase_if(opening, [&](uint32_t image) {
      if (images_.is_opening(image)) return false;
      // Of a program that is gone already nobody will call anything.
      const auto info = images_.find(image);
      if (info->kind != profile::ImageKind::kUnknown && ::access(info->path.c_str(), F_OK) == 0) note_image(image);
      return true;
    });
    for (const uint32_t image : images) {
      if (stop.stop_requested()) return;
      look_into_later(image, stop);
    }
  }
}

std::string FunctionProbes::statistics() const {
  const auto ms = [](uint64_t ns) { return static_cast<double>(ns) * 1e-6; };
  const std::lock_guard lock(mutex_);
  return fmt::format("functions: {} places in {} found in {:.0f} ms, attached in {:.0f} ms, detached in {:.0f} ms", places_, files_ == 1 ? "1 file" : fmt::format("{} files", files_), ms(finding_ns_), ms(attaching_ns_), ms(detaching_ns_));
}

// Once nothing is looked into any more.
std::vector<std::string> FunctionProbes::warnings() const {
  std::vector<std::string> all = finder_.warnings();
  if (std::string unseen = text_of_unseen(); !unseen.empty()) all.push_back(std::move(unseen));
  const std::lock_guard lock(mutex_);
  all.insert(all.end(), warnings_.begin(), warnings_.end());
  return all;
}

}  // namespace cicada::bpf_source
