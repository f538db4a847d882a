// SPDX-License-Identifier: Apache-2.0
// Which contents of which inode is which image: ids that are never reused, and what is known of each. Does no I/O.
// Threads: one at a time.
#pragma once
#include <chrono>
#include <deque>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "process/images/image_opener.h"
#include "process/images/image_source.h"
#include "profile/profile.h"

namespace cicada::process {

enum class ImageState : uint8_t { kOpening, kReady, kNotElf, kFailed };

struct ImageEntry {
  ImageJob job;
  ImageState state = ImageState::kOpening;
  profile::ImageKind kind = profile::ImageKind::kUnknown;
  std::vector<elf::Segment> loaded;
  std::shared_ptr<const UniqueFd> root;
  bool path_matters = true, remote = false;  // until it is known
  std::chrono::steady_clock::time_point checked;  // when the contents were last compared
  uint8_t tries = 0;
  bool has_new_hints = false;  // since it was last asked for

  // Latest first.
  void add_hint(const ImageHint& hint);
  ImageBinding bind(RuntimeAddr begin, FileOffset offset, uint64_t size) const;
};

class ImageTable {
 public:
  explicit ImageTable(size_t max_images) : max_images_(max_images) {}

  // A new id. Null: none left.
  ImageEntry* create(const MappedFile& mapped);
  // What these numbers and this path mean today. Null: nothing yet.
  ImageEntry* find(const MappedFile& mapped);
  // Null: no such id.
  ImageEntry* find(uint32_t id) { return const_cast<ImageEntry*>(std::as_const(*this).find(id)); }
  const ImageEntry* find(uint32_t id) const { return id == 0 || id > images_.size() ? nullptr : &images_[id - 1]; }
  // Takes over what opening it gave, but the descriptor. False: it holds something else now than what this id stands for, and is not found
  // by its numbers any more.
  bool accept(ImageEntry& image, OpenedImage& opened);

 private:
  static auto inode_key(const FileIdentity& file) { return std::tuple(file.major, file.minor, file.inode); }

  const size_t max_images_;
  std::deque<ImageEntry> images_;  // by id - 1
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, std::vector<uint32_t>> by_inode_;  // newest last
};

}  // namespace cicada::process
