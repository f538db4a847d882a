// SPDX-License-Identifier: Apache-2.0
// What the ids of a capture file are here. They are mapped, never assumed: a file may contain equal rows twice, our tables cannot.
#pragma once
#include <vector>

#include "base/byte_cursor.h"
#include "base/result.h"
#include "profile/profile.h"

namespace cicada::sink {

inline Error corrupt(std::string_view what) { return make_error(ErrorKind::kCorrupt, "malformed {}", what); }

// The mapped id of "index plus one; 0 is none". Sets `bad` when there is no such row.
template <typename Id>
Id optional_id(const std::vector<Id>& ids, uint64_t plus_one, bool& bad) {
  if (plus_one == 0) return {};
  if (plus_one > ids.size()) {
    bad = true;
    return {};
  }
  return ids[plus_one - 1];
}

template <typename Id>
uint64_t plus_one(Id id) {
  return id.valid() ? uint64_t{id.value} + 1 : 0;
}

// By index in the file.
struct CaptureIds {
  std::vector<profile::StringId> strings;
  std::vector<profile::ImageId> images;
  std::vector<profile::FunctionId> functions;
  std::vector<profile::FrameId> frames;
  std::vector<profile::StackId> stacks;
  std::vector<profile::ProcessId> processes;
  std::vector<profile::ThreadId> threads;

  profile::StringId string(uint64_t plus_one, bool& bad) const { return optional_id(strings, plus_one, bad); }
};

// A count of rows that take at least `bytes_each` bytes.
inline Result<size_t> read_count(ByteCursor& in, uint64_t bytes_each, std::string_view what) {
  const uint64_t count = in.uleb128();
  if (in.failed() || count > in.remaining() / bytes_each) return corrupt(what);
  return static_cast<size_t>(count);
}

}  // namespace cicada::sink
