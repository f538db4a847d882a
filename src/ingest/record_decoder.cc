// SPDX-License-Identifier: Apache-2.0
#include "ingest/record_decoder.h"

namespace cicada::ingest {
namespace {

template <typename T>
Record decode_as(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(T)) return Malformed{};
  return *reinterpret_cast<const T*>(bytes.data());
}

Record decode_stack(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(stack_record)) return Malformed{};
  const auto* head = reinterpret_cast<const stack_record*>(bytes.data());
  if (bytes.size() - sizeof *head < head->frame_count * sizeof(uint64_t)) return Malformed{};
  return StackRecord{head, {reinterpret_cast<const uint64_t*>(bytes.data() + sizeof *head), head->frame_count}};
}

Record decode_text(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(text_record)) return Malformed{};
  const auto* head = reinterpret_cast<const text_record*>(bytes.data());
  if (head->bytes > LONGEST_TEXT || bytes.size() - sizeof *head < head->bytes) return Malformed{};
  return TextRecord{head, {reinterpret_cast<const char*>(bytes.data() + sizeof *head), head->bytes}};
}

Record decode_request(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(unwind_request)) return Malformed{};
  const auto* head = reinterpret_cast<const unwind_request*>(bytes.data());
  if (bytes.size() - sizeof *head < head->stack_bytes) return Malformed{};
  return UnwindRequest{head, bytes};
}

}  // namespace

Record decode_record(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(uint32_t) || reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) != 0) return Malformed{};
  switch (*reinterpret_cast<const uint32_t*>(bytes.data())) {
    case RECORD_SAMPLE: return decode_as<sample_record>(bytes);
    case RECORD_STACK: return decode_stack(bytes);
    case RECORD_UNWIND_REQUEST: return decode_request(bytes);
    case RECORD_FORK:
    case RECORD_EXEC:
    case RECORD_EXIT:
    case RECORD_MISS: return decode_as<lifecycle_record>(bytes);
    case RECORD_THREAD_TIME: return decode_as<thread_time>(bytes);
    case RECORD_TEXT: return decode_text(bytes);
    default: return Malformed{};
  }
}

}  // namespace cicada::ingest
