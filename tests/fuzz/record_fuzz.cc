// SPDX-License-Identifier: Apache-2.0
// module: ingest
// The record decoder: whatever the bytes, what comes out lies within them, and what is too short for what it says is malformed.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "ingest/record_decoder.h"

namespace {

using namespace cicada;
using namespace cicada::ingest;

bool lies_within(std::span<const uint8_t> whole, const void* begin, size_t bytes) {
  const auto* const at = static_cast<const uint8_t*>(begin);
  return at >= whole.data() && bytes <= whole.size() && at <= whole.data() + (whole.size() - bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // As in the ring: at a multiple of eight, and nothing behind the last byte.
  std::vector<uint64_t> words((size + 7) / 8 + 1);
  auto* const begin = reinterpret_cast<uint8_t*>(words.data() + words.size()) - (size + 7) / 8 * 8;
  if (size != 0) std::memcpy(begin, data, size);
  const std::span<const uint8_t> bytes(begin, size);
  const Record record = decode_record(bytes);
  if (const auto* const stack = std::get_if<StackRecord>(&record)) {
    CHECK(lies_within(bytes, stack->head, sizeof *stack->head) && lies_within(bytes, stack->frames.data(), stack->frames.size_bytes()));
    CHECK(stack->frames.size() == stack->head->frame_count);
  } else if (const auto* const request = std::get_if<UnwindRequest>(&record)) {
    CHECK(lies_within(bytes, request->head, sizeof *request->head) && request->bytes.size() >= sizeof *request->head + request->head->stack_bytes);
  } else if (const auto* const text = std::get_if<TextRecord>(&record)) {
    CHECK(lies_within(bytes, text->head, sizeof *text->head) && lies_within(bytes, text->text.data(), text->text.size()));
    CHECK(text->text.size() <= LONGEST_TEXT);
  } else if (std::holds_alternative<sample_record>(record)) {
    CHECK(size >= sizeof(sample_record));
  } else if (std::holds_alternative<lifecycle_record>(record)) {
    CHECK(size >= sizeof(lifecycle_record));
  }
  if (size > 1) CHECK(std::holds_alternative<Malformed>(decode_record(bytes.subspan(1))));  // not aligned
  return 0;
}
