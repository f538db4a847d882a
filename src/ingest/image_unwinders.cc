// SPDX-License-Identifier: Apache-2.0
#include "ingest/image_unwinders.h"

#include <algorithm>

#include "base/diagnostics.h"
#include "base/monotonic_clock.h"

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

Result<std::shared_ptr<const unwind::ImageUnwinder>> ImageUnwinders::compile(uint32_t image) {
  if (stop_.stop_requested()) return make_error(ErrorKind::kLimit, "image {}: no unwind table, at the end", image);
  const UniqueFd fd = TRY(images_.open(image, stop_.get_token()));
  const process::ImageInfo info = *images_.find(image);
  if (reader_ == nullptr) {
    FileMapping file = TRY(FileMapping::map(fd.get(), info.path));
    const auto elf = std::make_shared<const elf::ElfFile>(TRY(elf::ElfFile::parse(std::move(file), info.path)));
    auto unwinder = std::make_shared<const unwind::ImageUnwinder>(elf);
    elf->drop_pages();  // of a file that may be 200 MB; what is needed again comes from the page cache
    return unwinder;
  }
  auto rows = reader_->compile_rows(info, fd.get(), stop_.get_token());
  if (!rows && rows.error().kind() != ErrorKind::kLimit) return rows.error();
  return std::make_shared<const unwind::ImageUnwinder>(
      info.path, std::move(rows),
      [this, image](uint32_t owner, std::span<const unwind::StepQuestion> asked) { return take_steps(image, owner, asked); });
}

Result<std::vector<unwind::ImageStep>> ImageUnwinders::take_steps(uint32_t image, uint32_t owner,
                                                                  std::span<const unwind::StepQuestion> asked) {
  const std::vector<unwind::ImageStep> none(asked.size());
  if (stop_.stop_requested()) return none;
  const UniqueFd fd = TRY(images_.open(image, stop_.get_token()));
  auto steps = reader_->take_steps(*images_.find(image), fd.get(), owner, asked, stop_.get_token());
  return stop_.stop_requested() && !steps ? none : std::move(steps);
}

Result<std::vector<unwind::CodeRule>> ImageUnwinders::ask_for_code(uint32_t image, const unwind::CodeQuestion& question) {
  const UniqueFd fd = TRY(images_.open(image, stop_.get_token()));
  return reader_->read_code(*images_.find(image), fd.get(), question, stop_.get_token());
}

// What has been read before and left is read again together with what is asked for: the kernel may still have it.
std::vector<LinkAddr> ImageUnwinders::read_before_and(uint32_t image, std::span<const LinkAddr> addresses) {
  std::vector<LinkAddr> all(addresses.begin(), addresses.end());
  const std::lock_guard lock(mutex_);
  const Entry& entry = entries_[image];
  for (const auto& [piece, address] : entry.read) all.push_back(address);
  return all;
}

void ImageUnwinders::read_code(uint32_t image, std::span<const LinkAddr> addresses, uint64_t since_ns) {
  const auto found = find(image);
  if (!found || !*found || reader_ == nullptr || stop_.stop_requested()) return;
  const auto before = **found;
  const unwind::CodeQuestion question = before->pieces().question(before->rows(), read_before_and(image, addresses));
  if (question.pieces.empty()) {
    const bool in_vain = std::any_of(addresses.begin(), addresses.end(), [&](LinkAddr at) { return unwind::is_unread(before->rows().find(at)); });
    const std::lock_guard lock(mutex_);
    if (in_vain) entries_[image].unreadable = true;
    return;
  }
  const Result<std::vector<unwind::CodeRule>> rules = question.code.empty() ? std::vector<unwind::CodeRule>() : ask_for_code(image, question);
  if (!rules && stop_.stop_requested()) return;
  if (!rules) diagnostics().warn(before->name(), "code without call-frame information cannot be read, it is walked by frame pointer: {}", rules.error().message());
  unwind::UnwindRows rows = with_code(before->rows(), question, rules ? *rules : std::vector<unwind::CodeRule>());
  const uint64_t waited_ns = monotonic_ns() - since_ns;
  uint64_t none = 0;
  code_reads_.first_ns.compare_exchange_strong(none, waited_ns);
  code_reads_.waits.add(waited_ns);
  for (const Range<LinkAddr>& piece : question.pieces) code_reads_.bytes += piece.size();
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[image];
  for (const Range<LinkAddr>& piece : question.pieces) entry.read.try_emplace((piece.begin - question.base) / before->pieces().piece_bytes(), piece.begin);
  if (entry.compiled == nullptr || !entry.compiled->result || !*entry.compiled->result || **entry.compiled->result != before) return;  // it left
  auto read = std::make_shared<Compiled>();
  std::call_once(read->once, [] {});
  read->rows = rows.rows().size();
  read->result.emplace(std::make_shared<const unwind::ImageUnwinder>(*before, std::move(rows), ++last_version_));
  rows_ += read->rows - entry.compiled->rows;
  entry.compiled = std::move(read);
}

bool ImageUnwinders::can_read_code(uint32_t image) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(image);
  return entry == entries_.end() || !entry->second.unreadable;
}

void ImageUnwinders::observe(std::function<void(uint32_t image)> compiled) {
  const std::unique_lock last(observed_);
  compiled_ = std::move(compiled);
}

std::optional<Result<std::shared_ptr<const unwind::ImageUnwinder>>> ImageUnwinders::find(uint32_t image) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(image);
  if (entry == entries_.end()) return std::nullopt;
  entry->second.last_used = Clock::now();
  if (entry->second.compiled != nullptr) return entry->second.compiled->result;
  if (entry->second.last_used >= entry->second.not_again_before) return std::nullopt;
  return make_error(ErrorKind::kLimit, "image {}: no room for its unwind table", image);
}

Result<std::shared_ptr<const unwind::ImageUnwinder>> ImageUnwinders::get(uint32_t image) {
  const std::shared_ptr<Compiled> compiled = find_or_add(image);
  if (compiled == nullptr) return make_error(ErrorKind::kLimit, "image {}: no room for its unwind table", image);
  bool first = false;
  std::call_once(compiled->once, [&] {
    first = true;
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
  if (first) {
    const std::shared_lock observed(observed_);
    if (compiled_) compiled_(image);
  }
  return *compiled->result;
}

}  // namespace cicada::ingest
