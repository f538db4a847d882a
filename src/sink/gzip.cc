// SPDX-License-Identifier: Apache-2.0
#include "sink/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>

namespace cicada::sink {
namespace {
constexpr int kGzipWindow = 15 + 16;
// Writing must not take longer than making: level 1 is three times as fast as the default, for a tenth more bytes.
constexpr int kLevel = 1;

struct EndInflate {
  void operator()(z_stream* stream) const { ::inflateEnd(stream); }
};
}  // namespace

struct GzipWriter::State {
  z_stream stream{};
  std::array<Bytef, 64 << 10> out;
};

GzipWriter::GzipWriter(OutputFile& file) : file_(file), state_(std::make_unique<State>()) {
  CHECK(::deflateInit2(&state_->stream, kLevel, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK);
}

GzipWriter::~GzipWriter() { ::deflateEnd(&state_->stream); }

void GzipWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, 1 << 30);  // avail_in has 32 bits
    state_->stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    state_->stream.avail_in = static_cast<uInt>(part.size());
    deflate_all(Z_NO_FLUSH);
    bytes.remove_prefix(part.size());
  }
}

void GzipWriter::finish() {
  state_->stream.avail_in = 0;
  deflate_all(Z_FINISH);
}

void GzipWriter::deflate_all(int flush) {
  do {
    state_->stream.next_out = state_->out.data();
    state_->stream.avail_out = static_cast<uInt>(state_->out.size());
    ::deflate(&state_->stream, flush);
    file_.write(std::string_view(reinterpret_cast<const char*>(state_->out.data()), state_->out.size() - state_->stream.avail_out));
  } while (state_->stream.avail_out == 0);
}

bool is_gzip(Bytes bytes) { return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b; }

Result<std::vector<uint8_t>> gunzip(Bytes bytes, uint64_t max_bytes) {
  std::vector<uint8_t> out;
  while (is_gzip(bytes)) {
    z_stream stream{};
    CHECK(::inflateInit2(&stream, kGzipWindow) == Z_OK);
    const std::unique_ptr<z_stream, EndInflate> end(&stream);
    int status = Z_OK;
    while (status != Z_STREAM_END) {
      if (out.size() >= max_bytes) return make_error(ErrorKind::kLimit, "more than {} bytes when decompressed", max_bytes);
      const size_t before = out.size();
      out.resize(std::min<uint64_t>(max_bytes, std::max<uint64_t>(before * 2, 256 << 10)));
      stream.next_out = out.data() + before;
      stream.avail_out = static_cast<uInt>(std::min<size_t>(out.size() - before, 1 << 30));
      const uInt room = stream.avail_out;
      const Bytes part = bytes.first(std::min<size_t>(bytes.size(), 1 << 30));
      stream.next_in = const_cast<Bytef*>(part.data());
      stream.avail_in = static_cast<uInt>(part.size());
      status = ::inflate(&stream, Z_NO_FLUSH);
      bytes = bytes.subspan(part.size() - stream.avail_in);
      out.resize(before + (room - stream.avail_out));
      if (status == Z_OK && (stream.avail_in != 0 || !bytes.empty() || stream.avail_out == 0)) continue;
      if (status != Z_STREAM_END) return make_error(ErrorKind::kCorrupt, "gzip data {}", status == Z_OK || status == Z_BUF_ERROR ? "cut off" : "damaged");
    }
  }
  return out;
}

}  // namespace cicada::sink
