// SPDX-License-Identifier: Apache-2.0
#include "sink/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/base64.h"

namespace cicada::sink {
namespace {
constexpr int kGzipWindow = 15 + 16;
// Writing must not take longer than making: level 1 is three times as fast as the default, for a tenth more bytes.
constexpr int kLevel = 1;

struct EndInflate {
  void operator()(z_stream* stream) const { ::inflateEnd(stream); }
};
}  // namespace

// One thread makes blocks, the other compresses and writes them: of a conversion to pprof, compression is a third.
struct GzipWriter::State {
  explicit State(OutputFile& out_file) : file(out_file) {
    CHECK(::deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  }
  ~State() { ::deflateEnd(&stream); }

  void deflate_all(std::string_view bytes, int flush) {
    do {
      const std::string_view part = bytes.substr(0, 1 << 30);  // avail_in has 32 bits
      bytes.remove_prefix(part.size());
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
      stream.avail_in = static_cast<uInt>(part.size());
      do {
        stream.next_out = out.data();
        stream.avail_out = static_cast<uInt>(out.size());
        ::deflate(&stream, bytes.empty() ? flush : Z_NO_FLUSH);
        file.write(std::string_view(reinterpret_cast<const char*>(out.data()), out.size() - stream.avail_out));
      } while (stream.avail_out == 0);
    } while (!bytes.empty());
  }

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return !blocks.empty() || closed; });
      if (blocks.empty()) return;
      const std::string block = std::move(blocks.front());
      blocks.pop_front();
      lock.unlock();
      changed.notify_all();
      deflate_all(block, Z_NO_FLUSH);
      lock.lock();
    }
  }

  void push(std::string&& block) {
    if (!worker.joinable()) worker = std::jthread([this] { work(); });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return blocks.size() < kMaxBlocks; });
    blocks.push_back(std::move(block));
    lock.unlock();
    changed.notify_all();
  }

  void close() {
    if (!worker.joinable()) return;
    {
      const std::lock_guard lock(mutex);
      closed = true;
    }
    changed.notify_all();
    worker.join();
  }

  static constexpr size_t kMaxBlocks = 8;
  OutputFile& file;  // the worker's alone from the first push() to close()
  z_stream stream{};
  std::array<Bytef, 64 << 10> out;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> blocks;  // guarded by mutex, like `closed`
  bool closed = false;
  std::jthread worker;  // started by the first full block: small files need none
};

GzipWriter::GzipWriter(OutputFile& file) : state_(std::make_unique<State>(file)) {}

GzipWriter::~GzipWriter() { state_->close(); }

void GzipWriter::write(std::string_view bytes) {
  block_.append(bytes);
  if (block_.size() < kBlockBytes) return;
  state_->push(std::move(block_));
  block_.clear();
}

void GzipWriter::finish() {
  state_->close();
  state_->deflate_all(block_, Z_FINISH);
  block_.clear();
}

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  CHECK(deflateInit2(&stream, 4, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out;
  std::string block(256 << 10, '\0');
  constexpr size_t kStep = size_t{1} << 30;  // avail_in has 32 bits
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    const size_t step = std::min(bytes.size(), kStep);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(step);
    bytes.remove_prefix(step);
    do {
      stream.next_out = reinterpret_cast<Bytef*>(block.data());
      stream.avail_out = static_cast<uInt>(block.size());
      status = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
      out.append(block.data(), block.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  deflateEnd(&stream);
  return out;
}

std::string gzip_text(std::string_view plain) { return base64(gzip(plain)); }

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
