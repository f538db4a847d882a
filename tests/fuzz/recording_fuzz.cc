// SPDX-License-Identifier: Apache-2.0
// module: sink
// The reader of recordings. By the first byte, the rest is a file, a stream that comes in pieces of so many bytes (u8), one difference, or changes to two real differences: (u16 where, u8 byte)*,
// because checksums and compression keep a mutation of a file from meaning anything. Whatever it says, the profile that comes out is valid.
#include <algorithm>
#include <array>
#include <string>

#include "base/check.h"
#include "sink/recording/delta_codec.h"
#include "sink/recording/recording_decoder.h"
#include "sink/recording/recording_reader.h"

namespace {

using namespace cicada;

Bytes bytes_of(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }

// A row of everything, twice.
void grow(profile::Profile& profile, uint64_t round) {
  using namespace profile;
  const auto text = [&](const char* name) { return profile.intern(name + std::to_string(round)); };
  const ImageId image = profile.intern_image({text("/lib/libx.so."), text("build-id"), ImageKind::kLibrary});
  StackId stack;
  for (const uint64_t address : {0x1000, 0x1040, 0x2000, 0x1040}) {
    const FrameId frame = profile.intern_frame({.kind = FrameKind::kNative, .image = image, .address = address + round, .label = {}});
    const FunctionId function = profile.intern_function({text("shown"), text("linkage\1"), image});
    const Location locations[] = {{.function = function, .file = text("a.c"), .line = 7, .inlined = true, .source = NameSource::kDwarf}, {.function = function}};
    profile.set_locations(frame, locations);
    stack = profile.intern_stack(stack, frame);
  }
  const ThreadId thread = profile.intern_thread(profile.intern_process(10, 77), static_cast<Tid>(10 + round));
  profile.edit_process(ProcessId(0), [&](Process& row) { row.name = text("name"); });
  profile.edit_thread(thread, [&](Thread& row) { row.name = text("thread"); });
  const Label label{text("key"), text("value")};
  const LabelSetId labels = profile.intern_labels({&label, 1});
  profile.header.events = {{.period = 1000, .sample_ns = 1000, .counts = {{"stored", round, true}}}, {.name = "page-faults", .unit = Unit::kEvents, .value = 100}};
  profile.header.command = {"record"};
  for (uint64_t i = 0; i < 6; ++i) {
    profile.append_sample({.time_ns = round * 10'000 + i * 1000, .thread = thread, .stack = i == 3 ? StackId() : StackId(stack.value - i % 3), .value = i % 2 == 0 ? 1U : 100U,
                           .labels = i == 4 ? labels : LabelSetId(), .cpu = static_cast<uint16_t>(i % 3), .event = {static_cast<uint8_t>(i % 2)}, .end_reason = END_OUTERMOST});
  }
}

const std::array<std::string, 2>& real_deltas() {
  static const auto deltas = [] {
    std::array<std::string, 2> result;
    profile::Profile profile;
    profile::SnapshotSizes sent;
    for (uint64_t round = 0; round < 2; ++round) {
      grow(profile, round);
      sink::ByteWriter out;
      sent = sink::append_delta(out, profile, sent);
      result[round] = out.bytes();
    }
    return result;
  }();
  return deltas;
}

void apply(std::span<const std::string> deltas) {
  profile::Profile profile;
  sink::MemoryBudget budget(16 << 20);
  for (const std::string& delta : deltas)
    if (!sink::apply_delta(profile, bytes_of(delta), budget)) break;
  CHECK(profile.validate());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteCursor in({data, size});
  switch (in.u8() % 4) {
    case 0: {
      const auto recording = sink::read_recording(in.take(in.remaining()), "fuzz");
      if (recording) CHECK(recording->profile.validate());
      break;
    }
    case 3: {  // it is read as it would be in one piece
      const size_t piece = size_t{1} + in.u8();
      const Bytes all = in.take(in.remaining());
      sink::RecordingDecoder decoder("fuzz");
      for (size_t at = 0; at < all.size(); at += piece)
        if (!decoder.push(all.subspan(at, std::min(piece, all.size() - at)))) break;
      CHECK(decoder.profile().validate());
      const auto recording = sink::read_recording(all, "fuzz");
      CHECK(static_cast<bool>(recording) == decoder.begun());
      // What is there may expand to more than what was there when it was read.
      if (recording) CHECK(recording->profile.sizes().samples >= decoder.profile().sizes().samples);
      break;
    }
    case 1: {
      const std::string delta(reinterpret_cast<const char*>(data) + in.position(), in.remaining());
      apply({&delta, 1});
      break;
    }
    default: {
      std::array<std::string, 2> deltas = real_deltas();
      const size_t both = deltas[0].size() + deltas[1].size();
      while (!in.at_end()) {
        const size_t at = in.u16() % both;
        const auto byte = static_cast<char>(in.u8());
        if (at < deltas[0].size()) deltas[0][at] = byte;
        else deltas[1][at - deltas[0].size()] = byte;
      }
      apply(deltas);
    }
  }
  return 0;
}
