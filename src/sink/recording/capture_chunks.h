// SPDX-License-Identifier: Apache-2.0
// The frame around everything in a capture file: chunks with a number and a checksum, each one zstd frame of sections.
// docs/formats/capture.md has the layout. What a section says is not looked at here.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/byte_cursor.h"
#include "base/result.h"
#include "sink/recording/byte_writer.h"
#include "sink/recording/capture_format.h"
#include "sink/output_file.h"

namespace cicada::sink {

inline constexpr size_t kSoftChunkBytes = 8 << 20;  // sections are cut so that a chunk stays far below kMaxRawChunkBytes

// How much memory the contents of a file may take, all chunks together. Real files compress 3- to 30-fold; what expands to more
// than this is a bomb.
class ExpansionBudget {
 public:
  explicit ExpansionBudget(uint64_t file_bytes) : left_(kFree + kTimes * file_bytes) {}
  bool take(uint64_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

 private:
  static constexpr uint64_t kTimes = 256;
  static constexpr uint64_t kFree = 64 << 20;
  uint64_t left_;
};

// Walks the chunks of a file. Borrows file and budget.
class ChunkReader {
 public:
  ChunkReader(Bytes file, uint64_t position, ExpansionBudget& budget) : file_(file), position_(position), budget_(budget) {}

  bool at_end() const { return position_ >= file_.size(); }
  // The sections of the chunk at position(); valid until the next call. Fails (kCorrupt, kLimit) if it is damaged.
  Result<Bytes> next();
  // Its content was good as well: go on behind it.
  void accept() {
    position_ = next_position_;
    ++count_;
  }
  uint64_t position() const { return position_; }
  uint64_t count() const { return count_; }  // accepted

 private:
  Bytes file_;
  uint64_t position_, next_position_ = 0;
  ExpansionBudget& budget_;
  uint64_t count_ = 0;
  std::vector<uint8_t> raw_;
};

// Collects sections and writes them as chunks. Owns the file.
class ChunkWriter {
 public:
  explicit ChunkWriter(OutputFile file) : file_(std::move(file)) {}

  // Large tables are cut into several sections and chunks: no section is much larger than kSoftChunkBytes.
  template <typename AppendContent>
  Result<void> append_section(Section kind, AppendContent append_content) {
    content_.clear();
    append_content(content_);
    if (content_.empty()) return {};
    raw_.uleb128(static_cast<uint64_t>(kind));
    raw_.text(content_.bytes());
    if (raw_.size() < kSoftChunkBytes) return {};
    return write();
  }

  // Rows [done, size) of a table, at most `step` a section.
  template <typename AppendRows>
  Result<void> append_table(Section kind, size_t& done, size_t size, size_t step, AppendRows append_rows) {
    while (done < size) {
      const size_t end = std::min(size, done + step);
      TRY(append_section(kind, [&](ByteWriter& out) {
        out.uleb128(end - done);
        append_rows(out, done, end);
      }));
      done = end;
    }
    return {};
  }

  // The sections so far become a chunk and reach the operating system. Nothing to do without any.
  Result<void> write();
  // Of zstd. What is small (a second, a usual recording) costs little at a high one.
  void set_level(int level) { level_ = level; }
  uint32_t count() const { return sequence_; }
  OutputFile& file() { return file_; }

 private:
  OutputFile file_;
  uint32_t sequence_ = 0;
  int level_ = 9;
  ByteWriter raw_, content_;
};

}  // namespace cicada::sink
