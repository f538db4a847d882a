// SPDX-License-Identifier: Apache-2.0
// Frames of the runner FIFO protocol (versions 1 and 2): u32 length, then a body of fixed-width little-endian integers: u32 kind, fields;
// a string is a u64 length and its bytes.
//
//   0c000000 | 08000000 0200000000000000        SetVersion(2)
//   04000000 | 01000000                         StartBenchmark
//
// Clients write length and body in two writes, so frames of two clients can be mixed write by write: length A, length B, body A, body B.
// FrameDecoder keeps the lengths that wait for a body; whatever the order, a body is known by its kind and its length.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_cursor.h"

namespace cicada::benchmark {

enum class FrameKind : uint32_t {
  kCurrentBenchmark, kStart, kStop, kAck, kPing, kSetIntegration, kErr, kAddMarker, kSetVersion, kGetMode, kMode,
};
enum class Marker : uint32_t { kSampleStart, kSampleEnd, kRoundStart, kRoundEnd };

struct Frame {
  FrameKind kind = FrameKind::kAck;
  int32_t pid = 0;           // kCurrentBenchmark, kAddMarker: as the client knows it
  std::string text = {};     // URI; kSetIntegration: name and version
  Marker marker = {};        // kAddMarker
  uint64_t number = 0;       // kAddMarker: ns of CLOCK_MONOTONIC; kSetVersion: version
  bool operator==(const Frame&) const = default;
};

// The whole of `body`, nothing else.
std::optional<Frame> find_frame(Bytes body);
// What a server says, length included. One write each: clients poll, then read length and body.
inline constexpr std::string_view kAckBytes{"\4\0\0\0\3\0\0\0", 8};
inline constexpr std::string_view kErrBytes{"\4\0\0\0\6\0\0\0", 8};
inline constexpr std::string_view kWalltimeBytes{"\10\0\0\0\12\0\0\0\0\0\0\0", 12};

class FrameDecoder {
 public:
  struct Item {
    std::optional<Frame> frame;  // nothing: bytes that are no frame were skipped
  };
  static constexpr uint32_t kMaxLength = 1 << 20;

  void append(Bytes bytes) { buffer_.insert(buffer_.end(), bytes.begin(), bytes.end()); }
  // Nothing: more bytes are needed. `quiet`: none came for a while, so that a ping is a ping and not two lengths, and a whole frame in the midst of
  // another one's body is the next client's.
  std::optional<Item> next(bool quiet = false);
  // Something waits for more bytes.
  bool is_waiting() const { return !waiting_.empty() || position_ < buffer_.size(); }
  // Nothing more will come of what waits: its writer died, or was mixed beyond repair.
  void discard();
  uint64_t mixed() const { return mixed_; }      // frames whose bytes came between those of another
  uint64_t skipped() const { return skipped_; }  // bytes that belong to no frame

 private:
  uint32_t word(size_t at) const;
  size_t available() const { return buffer_.size() - position_; }
  std::optional<Frame> frame_at(size_t at, uint32_t length) const;
  size_t find_whole_frame(size_t end) const;
  void skip_to(size_t at);
  Item resynchronise();

  std::vector<uint8_t> buffer_;
  size_t position_ = 0;
  std::vector<uint32_t> waiting_;  // lengths whose body has not come
  uint64_t mixed_ = 0, skipped_ = 0;
};

}  // namespace cicada::benchmark
