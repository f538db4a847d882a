// SPDX-License-Identifier: Apache-2.0
#include "ingest/image_unwinders.h"

#include <algorithm>

namespace cicada::ingest {

std::shared_ptr<ImageUnwinders::Compiled> ImageUnwinders::find_or_add(uint32_t image) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[image];
  const auto now = Clock::now();
  if (entry.compiled == nullptr && now >= entry.not_again_before) entry.compiled = std::make_shared<Compiled>();
  entry.last_used = now;
  const auto compiled = entry.compiled;
  make_room();
  return compiled;
}

void ImageUnwinders::make_room() {
  const auto rows_of = [](const Entry& entry) { return entry.compiled == nullptr ? 0 : entry.compiled->rows; };
  while (rows_ > kMaxRows) {
    const auto age = [&](const auto& entry) { return rows_of(entry.second) == 0 ? Clock::time_point::max() : entry.second.last_used; };
    const auto oldest = std::min_element(entries_.begin(), entries_.end(), [&](const auto& a, const auto& b) { return age(a) < age(b); });
    const size_t rows = rows_of(oldest->second);
    const bool in_use = oldest->second.last_used + kKeep > Clock::now();
    if (rows == 0 || (in_use && rows_ <= kMaxRowsInUse)) return;
    rows_ -= rows;
    oldest->second.compiled.reset();
  }
}

Result<std::shared_ptr<const elf::ElfFile>> ImageUnwinders::open(uint32_t image) {
  if (stop_.stop_requested()) return make_error(ErrorKind::kLimit, "image {}: not read any more, at the end", image);
  const UniqueFd fd = TRY(images_.open(image));
  const std::string name = images_.find(image)->path;
  FileMapping file = TRY(FileMapping::map(fd.get(), name));
  return std::make_shared<const elf::ElfFile>(TRY(elf::ElfFile::parse(std::move(file), name)));
}

// Opens the image at the first step that its rows do not say.
unwind::TakeStep ImageUnwinders::steps_of(uint32_t image) {
  struct Steps {
    std::once_flag opened;
    std::unique_ptr<const unwind::ImageSteps> image;
    std::optional<Error> why;
  };
  return [this, image, steps = std::make_shared<Steps>()](const unwind::StepQuestion& question) -> Result<unwind::ImageStep> {
    std::call_once(steps->opened, [&] {
      const std::shared_lock in_use(in_use_);
      auto elf = open(image);
      if (elf)
        steps->image = std::make_unique<const unwind::ImageSteps>(*std::move(elf));
      else
        steps->why = elf.error();
    });
    if (steps->image == nullptr) return *steps->why;
    return steps->image->take(question);
  };
}

Result<std::shared_ptr<const unwind::ImageUnwinder>> ImageUnwinders::compile(uint32_t image) {
  if (stop_.stop_requested()) return make_error(ErrorKind::kLimit, "image {}: no unwind table, at the end", image);
  if (!compile_) {
    const auto elf = TRY(open(image));
    auto unwinder = std::make_shared<const unwind::ImageUnwinder>(elf);
    elf->drop_pages();  // of a file that may be 200 MB; what is needed again comes from the page cache
    return unwinder;
  }
  const UniqueFd fd = TRY(images_.open(image));
  const process::ImageInfo info = *images_.find(image);
  auto rows = compile_(info, fd.get(), stop_.get_token());
  if (!rows && rows.error().kind() != ErrorKind::kLimit) return rows.error();
  return std::make_shared<const unwind::ImageUnwinder>(info.path, std::move(rows), steps_of(image));
}

Result<std::shared_ptr<const unwind::ImageUnwinder>> ImageUnwinders::get(uint32_t image) {
  const std::shared_lock in_use(in_use_);
  const std::shared_ptr<Compiled> compiled = find_or_add(image);
  if (compiled == nullptr) return make_error(ErrorKind::kLimit, "image {}: no room for its unwind table", image);
  std::call_once(compiled->once, [&] {
    const auto begin = Clock::now();
    auto unwinder = this->compile(image);
    const std::lock_guard lock(mutex_);
    make_room();
    if (unwinder) compiled->rows = (*unwinder)->rows().rows().size();
    rows_ += compiled->rows;
    const auto now = Clock::now();
    entries_[image].not_again_before = now + kCostFactor * (now - begin);
    compiled->result.emplace(std::move(unwinder));
  });
  return *compiled->result;
}

}  // namespace cicada::ingest
