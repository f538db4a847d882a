// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/recording_chunks.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>

namespace cicada::sink {
namespace {

constexpr uint64_t kHeaderBytes = 20;
constexpr size_t kOwnBlockBytes = 1 << 10;  // a column of that size gets statistics of its own: 3–6 % of a file

uint32_t crc_of(Bytes head, Bytes stored) {
  return static_cast<uint32_t>(::crc32_z(::crc32_z(0, head.data(), head.size()), stored.data(), stored.size()));
}
// `bytes` that a decoder of zstd passes over, and its head of eight.
void append_skippable_frame(std::vector<char>& to, uint64_t bytes) {
  ByteWriter head;
  head.u32(ZSTD_MAGIC_SKIPPABLE_START);
  head.u32(static_cast<uint32_t>(bytes));
  to.insert(to.end(), head.bytes().begin(), head.bytes().end());
  to.resize(to.size() + bytes);
}
Bytes bytes_of(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

}  // namespace

Result<std::optional<ChunkReader::Chunk>> ChunkReader::next() {
  ByteCursor cursor(bytes_, position_);
  const uint32_t kind = cursor.u32(), stored = cursor.u32(), raw = cursor.u32(), sequence = cursor.u32(), crc = cursor.u32();
  if (cursor.failed()) return std::optional<Chunk>();
  if (kind != static_cast<uint32_t>(ChunkKind::kDelta) && kind != static_cast<uint32_t>(ChunkKind::kEnd) && kind != static_cast<uint32_t>(ChunkKind::kAnew) &&
      kind != static_cast<uint32_t>(ChunkKind::kMoment))
    return make_error(ErrorKind::kCorrupt, "no chunk where one should be");
  if (stored > kMaxStoredChunkBytes) return make_error(ErrorKind::kLimit, "chunk of {} stored bytes", stored);
  const Bytes payload = cursor.take(stored);
  if (cursor.failed()) return std::optional<Chunk>();
  if (crc_of(bytes_.subspan(position_, kHeaderBytes - 4), payload) != crc) return make_error(ErrorKind::kCorrupt, "checksum does not match");
  if (sequence != count_) return make_error(ErrorKind::kCorrupt, "chunk {} follows chunk {}", sequence, count_);
  if (raw > kMaxRawChunkBytes || raw > raw_bytes_left_) return make_error(ErrorKind::kLimit, "chunk of {} bytes", raw);
  raw_bytes_left_ -= raw;
  raw_.resize(raw);
  const size_t got = ZSTD_decompress(raw_.data(), raw, payload.data(), payload.size());
  if (ZSTD_isError(got) != 0 || got != raw) return make_error(ErrorKind::kCorrupt, "chunk does not decompress");
  next_position_ = cursor.position();
  return std::optional(Chunk{static_cast<ChunkKind>(kind), raw_});
}

void ChunkEncoder::FreeContext::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

ChunkEncoder::ChunkEncoder() : zstd_(ZSTD_createCCtx()) { CHECK(zstd_ != nullptr); }

void ChunkEncoder::append(std::string& to, ChunkKind kind, const ByteWriter& content, int level) {
  if (count_ == 0) {
    ByteWriter head;
    head.append(kRecordingMagic);
    head.u32(kRecordingVersion);
    to += head.bytes();
    bytes_ = head.size();
  }
  raw_bytes_ += content.size();
  memory_bytes_ += content.memory_bytes();
  const uint64_t expanded = std::max(raw_bytes_, memory_bytes_), least = expanded > kFreeBytes ? (expanded - kFreeBytes) / kTimesFile + 1 : 0;
  stored_.resize(ZSTD_compressBound(content.size()) + 8 * content.column_ends().size());
  ZSTD_CCtx_reset(zstd_.get(), ZSTD_reset_session_only);
  ZSTD_CCtx_setParameter(zstd_.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setPledgedSrcSize(zstd_.get(), content.size());
  ZSTD_outBuffer out{stored_.data(), stored_.size(), 0};
  ZSTD_inBuffer in{content.bytes().data(), 0, 0};
  const auto compress_to = [&](size_t end, ZSTD_EndDirective how) {
    in.size = end;
    CHECK(ZSTD_compressStream2(zstd_.get(), &out, &in, how) == 0);
  };
  size_t last = 0;
  for (const size_t end : content.column_ends()) {
    if (end - last >= kOwnBlockBytes) {
      if (last > in.pos) compress_to(last, ZSTD_e_flush);
      compress_to(end, ZSTD_e_flush);
    }
    last = end;
  }
  compress_to(content.size(), ZSTD_e_end);

  stored_.resize(out.pos);
  if (const uint64_t after = bytes_ + kHeaderBytes + out.pos; after < least) append_skippable_frame(stored_, least - after);
  bytes_ += kHeaderBytes + stored_.size();

  ByteWriter head;
  head.u32(static_cast<uint32_t>(kind));
  head.u32(static_cast<uint32_t>(stored_.size()));
  head.u32(static_cast<uint32_t>(content.size()));
  head.u32(count_++);
  const std::string_view stored(stored_.data(), stored_.size());
  head.u32(crc_of(bytes_of(head.bytes()), bytes_of(stored)));
  to += head.bytes();
  to += stored;
}

}  // namespace cicada::sink
