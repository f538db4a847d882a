// SPDX-License-Identifier: Apache-2.0
#include "ingest/record_decoder.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace cicada::ingest {
namespace {

// Aligned as in a ring.
class Buffer {
 public:
  template <typename T>
  explicit Buffer(const T& head, size_t extra_bytes = 0) : words_((sizeof head + extra_bytes + 7) / 8), size_(sizeof head + extra_bytes) {
    std::memcpy(words_.data(), &head, sizeof head);
  }
  std::span<const uint8_t> bytes() const { return {reinterpret_cast<const uint8_t*>(words_.data()), size_}; }

 private:
  std::vector<uint64_t> words_;
  size_t size_;
};

stack_record stack_of(uint16_t frames) {
  stack_record head{};
  head.kind = RECORD_STACK;
  head.frame_count = frames;
  head.hash = 7;
  return head;
}

text_record text_of(uint16_t bytes) {
  text_record head{};
  head.kind = RECORD_TEXT;
  head.bytes = bytes;
  head.hash = 7;
  return head;
}

TEST(DecodeRecord, TellsKindsApart) {
  sample_record sample{};
  sample.kind = RECORD_SAMPLE;
  sample.value = uint64_t{1} << 40;
  sample.event = 3;
  const Buffer sample_bytes(sample);
  const Record decoded = decode_record(sample_bytes.bytes());
  ASSERT_TRUE(std::holds_alternative<sample_record>(decoded));
  EXPECT_EQ(std::get<sample_record>(decoded).value, uint64_t{1} << 40);
  EXPECT_EQ(std::get<sample_record>(decoded).event, 3);

  const Buffer stack(stack_of(2), 16);
  const Record stack_record_ = decode_record(stack.bytes());
  ASSERT_TRUE(std::holds_alternative<StackRecord>(stack_record_));
  EXPECT_EQ(std::get<StackRecord>(stack_record_).frames.size(), 2u);

  const Buffer text(text_of(5), 8);
  const Record text_record_ = decode_record(text.bytes());
  ASSERT_TRUE(std::holds_alternative<TextRecord>(text_record_));
  EXPECT_EQ(std::get<TextRecord>(text_record_).text, std::string_view("\0\0\0\0\0", 5));
  EXPECT_EQ(std::get<TextRecord>(text_record_).head->hash, 7u);

  unwind_request request{};
  request.kind = RECORD_UNWIND_REQUEST;
  request.stack_bytes = 4096;
  EXPECT_TRUE(std::holds_alternative<UnwindRequest>(decode_record(Buffer(request, 4096).bytes())));
  for (const uint32_t kind : {RECORD_FORK, RECORD_EXEC, RECORD_EXIT, RECORD_MISS}) {
    lifecycle_record event{};
    event.kind = kind;
    EXPECT_TRUE(std::holds_alternative<lifecycle_record>(decode_record(Buffer(event).bytes())));
  }
}

TEST(DecodeRecord, WhatIsCutOffAnywhereIsMalformed) {
  unwind_request request{};
  request.kind = RECORD_UNWIND_REQUEST;
  request.stack_bytes = 64;
  sample_record sample{};
  sample.kind = RECORD_SAMPLE;
  for (const Buffer& whole : {Buffer(sample), Buffer(stack_of(3), 24), Buffer(request, 64), Buffer(text_of(16), 16), Buffer(text_of(0))}) {
    ASSERT_FALSE(std::holds_alternative<Malformed>(decode_record(whole.bytes())));
    for (size_t size = 0; size < whole.bytes().size(); ++size) {
      EXPECT_TRUE(std::holds_alternative<Malformed>(decode_record(whole.bytes().first(size)))) << size;
    }
  }
}

TEST(DecodeRecord, ATextIsNoLongerThanTexts) {
  EXPECT_TRUE(std::holds_alternative<TextRecord>(decode_record(Buffer(text_of(LONGEST_TEXT), LONGEST_TEXT).bytes())));
  EXPECT_TRUE(std::holds_alternative<Malformed>(decode_record(Buffer(text_of(LONGEST_TEXT + 1), LONGEST_TEXT + 8).bytes())));
  EXPECT_TRUE(std::holds_alternative<Malformed>(decode_record(Buffer(text_of(0xffff), 16).bytes())));
}

TEST(DecodeRecord, NeitherOtherKindsNorUnalignedBytesAreBelieved) {
  sample_record sample{};
  sample.kind = 99;
  const Buffer unknown(sample);
  EXPECT_TRUE(std::holds_alternative<Malformed>(decode_record(unknown.bytes())));
  sample.kind = RECORD_SAMPLE;
  const Buffer buffer(sample, 8);
  EXPECT_TRUE(std::holds_alternative<Malformed>(decode_record(buffer.bytes().subspan(4))));
}

}  // namespace
}  // namespace cicada::ingest
