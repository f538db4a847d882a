// SPDX-License-Identifier: Apache-2.0
// What writer and reader of a capture file agree on. The page for people is docs/formats/capture.md.
//
//   file    := magic[8] u32 version  chunk*
//   chunk   := u32 'CHNK'  u32 stored_bytes  u32 raw_bytes  u32 sequence  u32 crc  payload[stored_bytes]
//   payload := one zstd frame of  section*
//   section := uleb kind  uleb size  content[size]
#pragma once
#include <cstdint>
#include <string_view>

namespace cicada::sink {

inline constexpr std::string_view kCaptureMagic{"\x89" "CICADA\n", 8};
inline constexpr uint32_t kCaptureVersion = 3;
inline constexpr uint32_t kChunkMagic = 0x4b4e4843;  // "CHNK"
inline constexpr uint64_t kChunkHeaderBytes = 20;
inline constexpr uint64_t kMaxRawChunkBytes = 64 << 20;

// Kinds are never reused; a reader skips those that it does not know.
enum class Section : uint8_t {
  kHeader = 1,     // replaces an earlier one
  kStrings = 2,    // the tables continue where the previous section of the kind ended
  kImages = 3,
  kFunctions = 4,
  kFrames = 5,
  kStacks = 6,
  kProcesses = 7,  // with index: appends, or replaces an earlier row
  kThreads = 8,
  kSamples = 9,
  kLocations = 10,
  kEnd = 11,       // the recording was finished
};

// Fields of the header section: uleb field, uleb size, content: a text, or a uleb number. Zero and empty are left out.
enum class HeaderField : uint8_t {
  kHost = 1, kKernel = 2, kArchitecture = 3, kCicadaVersion = 4, kBootId = 5, kCommandWord = 6, kEvent = 7,
  kStartRealtimeNs = 10, kStartMonotonicNs = 11, kDurationNs = 12, kCpuCount = 13, kEndReason = 16, kWarning = 17,
};

}  // namespace cicada::sink
