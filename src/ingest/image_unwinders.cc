// SPDX-License-Identifier: Apache-2.0
#include "ingest/image_unwinders.h"

#include <algorithm>

namespace cicada::ingest {

std::shared_ptr<ImageUnwinders::Entry> ImageUnwinders::find_or_add(uint32_t image) {
  const std::lock_guard lock(mutex_);
  auto& slot = entries_[image];
  if (slot == nullptr) slot = std::make_shared<Entry>();
  slot->last_used = std::chrono::steady_clock::now();
  const auto entry = slot;
  make_room();
  return entry;
}

void ImageUnwinders::make_room() {
  while (rows_ > kMaxRows) {
    const auto age = [](const auto& entry) { return entry.second->rows == 0 ? std::chrono::steady_clock::time_point::max() : entry.second->last_used; };
    const auto oldest = std::min_element(entries_.begin(), entries_.end(), [&](const auto& a, const auto& b) { return age(a) < age(b); });
    const bool in_use = oldest->second->last_used + kKeep > std::chrono::steady_clock::now();
    if (oldest->second->rows == 0 || (in_use && rows_ <= kMaxRowsInUse)) return;
    rows_ -= oldest->second->rows;
    entries_.erase(oldest);
  }
}

Result<std::shared_ptr<const elf::ElfFile>> ImageUnwinders::open(uint32_t image) {
  const UniqueFd fd = TRY(images_.open(image, process::RemoteFile::kInPlace));  // its code is kept, and read now and then
  const std::string name = images_.find(image)->path;
  FileMapping file = TRY(FileMapping::map(fd.get(), name));
  return std::make_shared<const elf::ElfFile>(TRY(elf::ElfFile::parse(std::move(file), name)));
}

Result<std::shared_ptr<const unwind::ImageUnwinder>> ImageUnwinders::get(uint32_t image) {
  const std::shared_ptr<Entry> entry = find_or_add(image);
  std::call_once(entry->once, [&] {
    const auto elf = open(image);
    if (!elf) {
      entry->result.emplace(elf.error());
      return;
    }
    auto unwinder = std::make_shared<const unwind::ImageUnwinder>(*elf);
    (*elf)->drop_pages();  // of a file that may be 200 MB; what is needed again comes from the page cache
    const std::lock_guard lock(mutex_);
    make_room();
    entry->rows = unwinder->rows().rows().size();
    rows_ += entry->rows;
    entry->result.emplace(std::move(unwinder));
  });
  return *entry->result;
}

}  // namespace cicada::ingest
