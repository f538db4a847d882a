// SPDX-License-Identifier: Apache-2.0
// Events at functions and USDT probes of programs and libraries: attached to the files that have them (function_finder.h), for whoever runs these.
//
//   find()        the files that are mapped now, or that a path names ──▶ places
//   attach()      one link a file and event, where the kernel has that (uprobe_links.h)
//   note_image()  a file that is mapped later ──▶ a thread of its own does the same
//
// Owns the links: nothing stays attached after it. Threads: one, but note_image() from any.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bpf_source/function_finder.h"

namespace cicada::bpf_source {

class FunctionProbes {
 public:
  struct Options {
    int program_fd = -1;
    bool multi = false;          // has_uprobe_multi()
    bool whole_machine = false;  // then each event has to name an image
    std::function<Result<void>(uint32_t index, const event_fields& fields)> set_place_fields = {};  // BpfObject::set_place_fields; of USDT probes
  };
  struct Event {
    FunctionFinder::Event what;
    uint64_t cookie = 0;
  };
  FunctionProbes(const Options& options, std::vector<Event> events, process::ImageRegistry& images, std::shared_ptr<ImageReader> reader);
  ~FunctionProbes() { detach(); }
  FunctionProbes(const FunctionProbes&) = delete;
  FunctionProbes& operator=(const FunctionProbes&) = delete;

  // `inherited`: paths of images that nobody may come to run: an event needs another one. Fails: kNotFound (no such image or function, with what may have been meant), kLimit (too many), kUnsupported (it cannot be probed).
  Result<void> find(const std::set<std::string>& inherited = {});
  // What was found. Fails: nothing of an event can be attached; then nothing is.
  Result<void> attach();
  void detach();
  // Executable code of it was mapped by a target. Waits for nobody.
  void note_image(uint32_t image);

  // What there was, and how long it took; for people.
  std::string statistics() const;
  // What was left out, and why.
  std::vector<std::string> warnings() const;

 private:
  using Found = FunctionFinder::Found;
  const std::string& name_of(const Found& found) const { return finder_.events()[found.event].name; }
  size_t most_places() const;
  Result<void> attach(const Found& found);
  void look_into_later(uint32_t image, const std::stop_token& stop);
  void follow(const std::stop_token& stop);
  // Looked into, or noted for later.
  void look_into_now(uint32_t image, const std::string& path, uint64_t deadline_ns);
  // What says that there are files that nobody has looked into.
  std::string text_of_unseen() const;
  void warn(std::string warning);

  const Options options_;
  FunctionFinder finder_;
  process::ImageRegistry& images_;
  std::vector<uint64_t> cookies_;  // by event
  std::vector<Found> found_;       // by find(), for attach()
  uint32_t known_fields_ = 1;      // of finder_.place_fields(), that the kernel side knows

  mutable std::mutex mutex_;
  std::condition_variable_any came_;
  uint32_t next_image_ = 1;  // of the thread
  std::unordered_set<uint32_t> noted_, looked_into_;
  std::vector<uint32_t> waiting_;
  std::vector<std::string> warnings_;
  size_t places_ = 0, files_ = 0;  // that are attached
  std::vector<UniqueFd> links_, return_links_;  // the second where calls are timed
  uint64_t finding_ns_ = 0, attaching_ns_ = 0, detaching_ns_ = 0;
  std::jthread thread_;
};

}  // namespace cicada::bpf_source
