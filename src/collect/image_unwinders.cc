// SPDX-License-Identifier: Apache-2.0
#include "collect/image_unwinders.h"

namespace cicada::collect {

Result<std::shared_ptr<const unwind::ImageUnwinder>> ImageUnwinders::get(uint32_t image) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    if (rows_ > kMaxRows) {
      entries_.clear();
      rows_ = 0;
    }
    auto& slot = entries_[image];
    if (slot == nullptr) slot = std::make_shared<Entry>();
    entry = slot;
  }
  std::call_once(entry->once, [&] {
    auto elf = images_.elf(image);
    if (!elf) {
      entry->result.emplace(elf.error());
      return;
    }
    auto unwinder = std::make_shared<const unwind::ImageUnwinder>(*elf);
    (*elf)->drop_pages();  // of a file that may be 200 MB; what is needed again comes from the page cache
    const std::lock_guard lock(mutex_);
    rows_ += unwinder->rows().rows.size();
    entry->result.emplace(std::move(unwinder));
  });
  return *entry->result;
}

}  // namespace cicada::collect
