// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/capture_chunks.h"

#include <zlib.h>
#include <zstd.h>

namespace cicada::sink {

Result<Bytes> ChunkReader::next() {
  ByteCursor cursor(file_, position_);
  const uint32_t magic = cursor.u32(), stored = cursor.u32(), raw = cursor.u32(), sequence = cursor.u32(), crc = cursor.u32();
  const Bytes payload = cursor.take(stored);
  if (cursor.failed()) return make_error(ErrorKind::kCorrupt, "chunk cut off");
  if (magic != kChunkMagic) return make_error(ErrorKind::kCorrupt, "no chunk where one should be");
  uLong actual = ::crc32(0, file_.data() + position_, kChunkHeaderBytes - 4);
  actual = ::crc32_z(actual, payload.data(), payload.size());
  if (actual != crc) return make_error(ErrorKind::kCorrupt, "checksum does not match");
  if (sequence != count_) return make_error(ErrorKind::kCorrupt, "chunk {} follows chunk {}", sequence, count_);
  if (raw > kMaxRawChunkBytes || !budget_.take(raw))
    return make_error(ErrorKind::kLimit, "chunk of {} bytes", raw);
  raw_.resize(raw);
  const size_t got = ZSTD_decompress(raw_.data(), raw, payload.data(), payload.size());
  if (ZSTD_isError(got) != 0 || got != raw) return make_error(ErrorKind::kCorrupt, "chunk does not decompress");
  next_position_ = cursor.position();
  return Bytes(raw_.data(), raw_.size());
}

Result<void> ChunkWriter::write() {
  if (raw_.empty()) return {};
  std::string stored(ZSTD_compressBound(raw_.size()), '\0');
  const size_t size = ZSTD_compress(stored.data(), stored.size(), raw_.bytes().data(), raw_.size(), raw_.size() < (4 << 20) ? level_ : 3);
  CHECK(ZSTD_isError(size) == 0);
  ByteWriter head;
  head.u32(kChunkMagic);
  head.u32(static_cast<uint32_t>(size));
  head.u32(static_cast<uint32_t>(raw_.size()));
  head.u32(sequence_++);
  uLong crc = ::crc32(0, reinterpret_cast<const Bytef*>(head.bytes().data()), static_cast<uInt>(head.size()));
  crc = ::crc32(crc, reinterpret_cast<const Bytef*>(stored.data()), static_cast<uInt>(size));
  head.u32(static_cast<uint32_t>(crc));
  file_.write(head.bytes());
  file_.write(std::string_view(stored).substr(0, size));
  raw_.clear();
  return file_.flush();
}

}  // namespace cicada::sink
