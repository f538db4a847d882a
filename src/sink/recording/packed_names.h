// SPDX-License-Identifier: Apache-2.0
// Functions, files and lines of the frames of a finished recording, packed. In the order of addresses neighbours are in the same function, or
// in the next one: a frame costs 2 bits where three numbers cost 18.
//
// Used by writer and reader alike (adaptive_coder.h). Indices are those of the file, and are not checked here.
#pragma once
#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <vector>

#include "profile/profile.h"
#include "sink/recording/adaptive_coder.h"
#include "sink/recording/byte_writer.h"

namespace cicada::sink {

inline std::vector<uint32_t> by_address(const std::vector<profile::Frame>& frames) {
  std::vector<uint32_t> order(frames.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto key = [&](uint32_t i) { return std::tuple(frames[i].kind, frames[i].image, frames[i].address_space, frames[i].address, i); };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  return order;
}

// Functions were added as their names were: name and linkage name are mostly new strings, one after the other.
template <typename Coder>
class FunctionCoder {
 public:
  explicit FunctionCoder(Coder& coder) : coder_(coder) {}
  void code(profile::Function& row) {
    row.name = code_string(row.name, name_);
    row.linkage_name = code_string(row.linkage_name, linkage_name_);
    const bool same = coder_.bit(same_image_, row.image == image_);
    if (!same) image_.value = static_cast<uint32_t>(code_number(coder_, number_, row.image.value + 1U)) - 1;
    row.image = image_;
  }

 private:
  struct StringModel {
    BitModel none, next;
    NumberModel distance;
  };
  profile::StringId code_string(profile::StringId id, StringModel& model) {
    if (coder_.bit(model.none, !id.valid())) return {};
    if (!coder_.bit(model.next, id.value == next_)) {
      const auto next = static_cast<int64_t>(next_);
      id.value = static_cast<uint32_t>(next_ - static_cast<uint64_t>(from_zigzag(code_number(coder_, model.distance, to_zigzag(next - static_cast<int64_t>(id.value))))));
    } else {
      id.value = static_cast<uint32_t>(next_);
    }
    if (id.value >= next_) next_ = uint64_t{id.value} + 1;
    return id;
  }

  Coder& coder_;
  uint64_t next_ = 0;
  profile::ImageId image_;
  StringModel name_, linkage_name_;
  BitModel same_image_;
  NumberModel number_;
};

template <typename Coder>
class LocationCoder {
 public:
  static constexpr size_t kMaxInlined = 1024;  // one frame's locations
  // Borrows. A decoder checks functions against the number of them.
  LocationCoder(Coder& coder, size_t functions) : coder_(coder), file_of_(functions), line_of_(functions) {}

  // The next frame in the order of by_address(). Innermost first, as in a Profile. False: malformed.
  bool code(std::vector<profile::Location>& locations) {
    const uint64_t count = code_number(coder_, count_[std::min<size_t>(before_.size(), 3)], locations.size());
    if (count > kMaxInlined || coder_.failed()) return false;
    locations.resize(count);
    for (size_t level = 0; level < count; ++level)
      if (!code_one(locations[count - 1 - level], level)) return false;
    before_.assign(locations.rbegin(), locations.rend());
    return true;
  }

 private:
  bool code_one(profile::Location& now, size_t level) {
    const size_t where = std::min<size_t>(level, 2);
    const bool have = level < before_.size();
    const uint32_t before = have ? before_[level].function.value : 0;
    if (have && coder_.bit(same_[where], now.function.value == before)) {
      now.function.value = before;
    } else {
      const auto next = static_cast<int64_t>(next_);
      now.function.value = static_cast<uint32_t>(next_ - static_cast<uint64_t>(from_zigzag(
                               code_number(coder_, function_[where], to_zigzag(next - static_cast<int64_t>(now.function.value))))));
    }
    const uint32_t function = now.function.value;
    if (function >= file_of_.size()) return false;
    if (level == 0 || function >= next_) next_ = uint64_t{function} + 1;
    uint64_t& file = file_of_[function];  // + 2; 0: not seen yet
    const uint64_t likely = file != 0 ? file - 1 : last_file_[where];
    const uint32_t known = file != 0 ? 1 : 0;
    uint64_t file_plus_one = now.file.value + 1U;
    if (coder_.bit(same_file_[where][known], file_plus_one == likely)) file_plus_one = likely;
    else file_plus_one = last_new_file_ + static_cast<uint64_t>(from_zigzag(code_number(coder_, file_, to_zigzag(static_cast<int64_t>(file_plus_one - last_new_file_))))), last_new_file_ = file_plus_one;
    if (file_plus_one > 0xffffffff) return false;
    now.file.value = static_cast<uint32_t>(file_plus_one) - 1;
    file = file_plus_one + 1;
    last_file_[where] = file_plus_one;
    const uint32_t line = line_of_[function];
    now.line = line + static_cast<uint32_t>(from_zigzag(code_number(coder_, line_[file_plus_one == 0 ? 0 : 1 + known], to_zigzag(static_cast<int32_t>(now.line - line)))));
    line_of_[function] = now.line;
    const uint64_t source = code_number(coder_, source_[static_cast<size_t>(last_source_)], static_cast<uint64_t>(now.source));
    if (source > static_cast<uint64_t>(profile::NameSource::kCallFrame)) return false;
    now.source = last_source_ = static_cast<profile::NameSource>(source);
    now.inlined = coder_.bit(inlined_[where], now.inlined);
    return !coder_.failed();
  }

  Coder& coder_;
  std::vector<profile::Location> before_;  // of the frame before, outermost first
  uint64_t next_ = 0;
  std::vector<uint64_t> file_of_;
  std::vector<uint32_t> line_of_;
  std::array<uint64_t, 3> last_file_{};
  uint64_t last_new_file_ = 0;
  profile::NameSource last_source_ = profile::NameSource::kNone;
  std::array<BitModel, 3> same_, inlined_;
  std::array<std::array<BitModel, 2>, 3> same_file_;
  std::array<NumberModel, 4> count_;
  std::array<NumberModel, 3> function_, line_;
  std::array<NumberModel, 16> source_;
  NumberModel file_;
};

}  // namespace cicada::sink
