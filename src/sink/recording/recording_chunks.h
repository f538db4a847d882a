// SPDX-License-Identifier: Apache-2.0
// The frame around everything in a recording: chunks with a number and a checksum, compressed. docs/formats/recording.md has the layout. What a chunk
// says is not looked at here.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_cursor.h"
#include "base/result.h"
#include "sink/recording/byte_writer.h"

struct ZSTD_CCtx_s;

namespace cicada::sink {

inline constexpr std::string_view kRecordingMagic{"\x89" "CICADA\n", 8};
inline constexpr uint32_t kRecordingVersion = 6;
inline constexpr uint64_t kMaxRawChunkBytes = 64 << 20;
inline constexpr uint64_t kMaxStoredChunkBytes = 2 * kMaxRawChunkBytes;  // a skippable frame may be behind what is compressed
// What a file may expand to, decompressed and in memory: kFreeBytes, and kTimesFile times its size. Real ones take 3 to 30 times their size; a file
// that takes more was made to. Somebody's programs can make our own so, with the same few frames in a million ways: those are written longer.
inline constexpr uint64_t kFreeBytes = 64 << 20, kTimesFile = 256;

enum class ChunkKind : uint32_t {
  kDelta = 0x544c4544,  // "DELT": see delta_codec.h
  kEnd = 0x20444e45,    // "END ": the recording was finished; uleb number of its samples
  kAnew = 0x57454e41,   // "ANEW": what follows begins with nothing. In streams only: a file is written anew
  kMoment = 0x20574f4e,  // "NOW ": what came is all there was at one moment; struct Moment. In streams only
};

inline constexpr uint64_t kPausedBit = 1, kMayChangeBit = 2, kMayChooseBit = 4;
inline constexpr size_t kMaxMomentText = 4096;  // of each

// What a stream says of a moment besides what was sampled until then.
struct Moment {
  bool paused = false;      // nothing is sampled now
  bool may_change = false;  // viewers may ask for other events
  bool may_choose = false;  // and for some of the machine's processes only
  std::string title = {};   // what is recorded; empty: it is not said
  std::string events = {}, processes = {};  // as they were asked for; empty: the usual, all
  std::string answer = {};  // why what a viewer asked for last was not done; empty: it was
  uint64_t cpu_ns = 0;      // that the recorder and those who read for it have used so far; 0: it is not said
};

// Walks the chunks of a file, or of what has come of a stream. Borrows the bytes.
class ChunkReader {
 public:
  struct Chunk {
    ChunkKind kind = ChunkKind::kEnd;
    Bytes content;  // valid until the next call
  };
  // What there is now: what was not accepted, with `more` bytes behind it.
  void replace(Bytes bytes, uint64_t position, size_t more) {
    bytes_ = bytes;
    position_ = position;
    raw_bytes_left_ += kTimesFile * more;
  }
  // The chunk at position(). Nothing: its end is not there. Fails (kCorrupt, kLimit) if it is damaged, or if the chunks so far expand beyond what
  // real ones do.
  Result<std::optional<Chunk>> next();
  // Its content was good as well: go on behind it. How long it was.
  uint64_t accept() {
    ++count_;
    return next_position_ - std::exchange(position_, next_position_);
  }
  uint64_t position() const { return position_; }
  uint32_t count() const { return count_; }  // accepted

 private:
  Bytes bytes_;
  uint64_t position_ = 0, next_position_ = 0, raw_bytes_left_ = kFreeBytes;
  uint32_t count_ = 0;
  std::vector<uint8_t> raw_;
};

// Makes chunks, one behind the other; magic and version are before the first.
class ChunkEncoder {
 public:
  ChunkEncoder();
  // Appends it to `out`, long enough for a reader to take it. `level`: of zstd.
  void append(std::string& out, ChunkKind kind, const ByteWriter& content, int level);
  uint32_t count() const { return count_; }

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  std::unique_ptr<ZSTD_CCtx_s, FreeContext> zstd_;
  std::vector<char> stored_;
  uint64_t bytes_ = 0, raw_bytes_ = 0, memory_bytes_ = 0;
  uint32_t count_ = 0;
};

}  // namespace cicada::sink
