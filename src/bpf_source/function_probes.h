// SPDX-License-Identifier: Apache-2.0
// Events at functions of programs and libraries: found by name in the files that targets map, and attached to these files, for whoever runs them.
//
//   find()        the files that are mapped now, or the one that a path names ──▶ a parser says where ──▶ places
//   attach()      one link a file and event, where the kernel has that (uprobe_links.h)
//   note_image()  a file that is mapped later ──▶ a thread of its own does the same
//
// One instruction is attached to once an event, whatever names it has. Owns the links: nothing stays attached after it. Threads: one, but note_image() from any.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bpf_source/event_spec.h"
#include "bpf_source/image_reader.h"
#include "process/images/image_registry.h"

namespace cicada::bpf_source {

class FunctionProbes {
 public:
  static constexpr size_t kMostPlaces = 16'384;  // of all events

  struct Event {
    uint32_t number = 0;  // the recording's
    std::string name;
    FunctionPlace place;
    uint64_t cookie = 0;
    bool needs_arguments = false;
  };
  struct Options {
    int program_fd = -1;
    bool multi = false;          // has_uprobe_multi()
    bool whole_machine = false;  // then each event has to name an image
  };
  FunctionProbes(const Options& options, std::vector<Event> events, process::ImageRegistry& images, std::shared_ptr<ImageReader> reader)
      : options_(options), events_(std::move(events)), images_(images), reader_(std::move(reader)) {}
  ~FunctionProbes() { detach(); }
  FunctionProbes(const FunctionProbes&) = delete;
  FunctionProbes& operator=(const FunctionProbes&) = delete;

  // Fails: kNotFound (no such image or function, with what may have been meant), kLimit (too many), kUnsupported (it cannot be probed).
  Result<void> find();
  // What was found. Fails: as attach_uprobes(); then nothing is attached.
  Result<void> attach();
  void detach();
  // Executable code of it was mapped by a target. Waits for nobody.
  void note_image(uint32_t image);

  // Of all events and files, now.
  size_t places() const;
  // What there was, and how long it took; for people.
  std::string statistics() const;
  // What was left out, and why.
  std::vector<std::string> warnings() const;

 private:
  // The places of an event in a file.
  struct File {
    size_t event = 0;
    std::string path;
    UniqueFd fd;
    std::vector<FileOffset> offsets;
    std::vector<UniqueFd> links;
  };
  // Of an event, in all files that were looked at.
  struct Found {
    size_t images = 0, matches = 0, indirect = 0, changed = 0, within = 0, unsafe = 0;
    std::vector<std::string> near;  // names that may have been meant
    std::string indirect_name, changed_name, within_name, unsafe_name;
    bool is_go = false;
  };
  using Files = std::vector<File>;
  bool is_wanted(const Event& event, const std::string& path) const;
  Result<bool> begins_instruction(const process::ImageInfo& image, int fd, FileOffset function, uint64_t offset) const;
  // Adds to `files` and `found`, which is by event.
  Result<void> look_into(const process::ImageInfo& image, std::vector<Found>& found, Files& files);
  Result<void> look_into_paths(std::vector<Found>& found, Files& files);
  Error nothing_found(const Event& event, const Found& found) const;
  Result<void> attach(File& file);
  void follow(const std::stop_token& stop);

  const Options options_;
  const std::vector<Event> events_;
  process::ImageRegistry& images_;
  const std::shared_ptr<ImageReader> reader_;
  std::set<std::tuple<size_t, uint64_t, uint64_t>> known_;  // event, device, inode
  Files files_;                                             // under mutex_ once follow() runs

  mutable std::mutex mutex_;
  std::condition_variable_any came_;
  std::unordered_set<uint32_t> noted_;
  std::vector<uint32_t> waiting_;
  std::vector<std::string> warnings_;
  uint64_t finding_ns_ = 0, attaching_ns_ = 0, detaching_ns_ = 0;
  std::jthread thread_;
};

}  // namespace cicada::bpf_source
