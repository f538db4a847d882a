// SPDX-License-Identifier: Apache-2.0
// gzip, streaming out and bounded in.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_cursor.h"
#include "sink/output_file.h"

namespace cicada::sink {

// Compresses into `file`, which must outlive it and which nobody else may touch between the first write() and finish(): large
// outputs are compressed and written on a thread of its own.
class GzipWriter {
 public:
  explicit GzipWriter(OutputFile& file);
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;
  void write(std::string_view bytes);
  void finish();  // the trailer; nothing may be written after

 private:
  struct State;
  static constexpr size_t kBlockBytes = 256 << 10;
  std::unique_ptr<State> state_;
  std::string block_;
};

std::string gzip(std::string_view bytes);
std::string gzip_text(std::string_view bytes);  // the same as base64, which has no byte that could end an element or a string
bool is_gzip(Bytes bytes);
// All members of a gzip file. Fails: kCorrupt, or kLimit when it would be larger than `max_bytes`.
Result<std::vector<uint8_t>> gunzip(Bytes bytes, uint64_t max_bytes);

}  // namespace cicada::sink
