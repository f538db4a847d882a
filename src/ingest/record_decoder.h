// SPDX-License-Identifier: Apache-2.0
// Bytes of a ring buffer -> one record (abi/records.h). Nothing is believed: a record that is too short for what it says, or does not begin
// at a multiple of eight, is malformed.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "abi/records.h"

namespace cicada::ingest {

// Views are valid as long as the bytes.
struct StackRecord {
  const stack_record* head;
  std::span<const uint64_t> frames;  // abi/frame.h, leaf first
};
struct UnwindRequest {
  const unwind_request* head;
  std::span<const uint8_t> bytes;  // the whole record, its copy of the stack included
};
struct TextRecord {
  const text_record* head;
  std::string_view text;
};
struct Malformed {};
using Record = std::variant<Malformed, sample_record, StackRecord, UnwindRequest, lifecycle_record, thread_time, TextRecord>;

Record decode_record(std::span<const uint8_t> bytes);

}  // namespace cicada::ingest
