// SPDX-License-Identifier: Apache-2.0
// module: sink
// The capture reader. A checksum guards each chunk, so the input is taken for the raw content of one chunk and packed here;
// whatever it says, the profile that comes out is valid.
#include <zlib.h>
#include <zstd.h>

#include <string>

#include "base/check.h"
#include "sink/recording/byte_writer.h"
#include "sink/recording/capture_format.h"
#include "sink/recording/capture_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cicada;
  sink::ByteWriter file;
  file.append(sink::kCaptureMagic);
  file.u32(sink::kCaptureVersion);
  std::string stored(ZSTD_compressBound(size), '\0');
  stored.resize(ZSTD_compress(stored.data(), stored.size(), data, size, 1));
  sink::ByteWriter head;
  head.u32(sink::kChunkMagic);
  head.u32(static_cast<uint32_t>(stored.size()));
  head.u32(static_cast<uint32_t>(size));
  head.u32(0);
  uLong crc = ::crc32(0, reinterpret_cast<const Bytef*>(head.bytes().data()), static_cast<uInt>(head.size()));
  crc = ::crc32(crc, reinterpret_cast<const Bytef*>(stored.data()), static_cast<uInt>(stored.size()));
  file.append(head.bytes());
  file.u32(static_cast<uint32_t>(crc));
  file.append(stored);
  for (const std::string_view text : {std::string_view(file.bytes()), std::string_view(reinterpret_cast<const char*>(data), size)}) {
    const auto capture = sink::read_capture({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, "fuzz");
    if (capture) CHECK(capture->profile.validate());
  }
  return 0;
}
