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
inline constexpr uint32_t kCaptureVersion = 2;  // 1: without the packed sections
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
  kMoved = 12,     // samples that have another stack than when they were written
  kPackedCalls = 13,  // all frames and stacks; the packed ones are of finished recordings
  kPackedNames = 14,  // all functions, and the locations of all frames
  kPackedSamples = 15,
  kPackedStrings = 16,  // all strings
};

// So many rows of packed sections there may be, by the bytes of the file: fewer bytes a row, and the plain sections are taken.
inline constexpr uint64_t kMaxPackedRowsPerByte = 16;
inline constexpr uint64_t kMaxPackedTextPerByte = 64;

// Fields of the header section: uleb field, uleb size, content: a text, or a uleb number. Zero and empty are left out.
enum class HeaderField : uint8_t {
  kHost = 1, kKernel = 2, kArchitecture = 3, kCicadaVersion = 4, kBootId = 5, kCommandWord = 6, kEvent = 7, kPeriod = 8,
  kFrequencyHz = 9, kStartRealtimeNs = 10, kStartMonotonicNs = 11, kDurationNs = 12, kCpuCount = 13, kFired = 14,
  kCount = 15, kEndReason = 16, kWarning = 17,
};

}  // namespace cicada::sink
