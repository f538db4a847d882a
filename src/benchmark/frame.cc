// SPDX-License-Identifier: Apache-2.0
// The kinds that clients send have bodies of 4, 12, 20 or at least 16 bytes. So a word at a boundary is either a length (4, 12, 16 and more)
// or a kind (0 to 9), and only 4 is both: a ping, or the length of a second client's frame. Kinds 1, 2 and 9 after it decide for the length.
#include "benchmark/frame.h"

#include <algorithm>

namespace cicada::benchmark {
namespace {

constexpr size_t kWord = 4, kSmallestText = 16, kMaxWaiting = 64;

bool is_length(uint32_t word) { return word == 4 || word == 12 || (word >= kSmallestText && word <= FrameDecoder::kMaxLength); }

// Can a body of `length` bytes begin with this kind?
bool fits(uint32_t kind, uint32_t length) {
  switch (static_cast<FrameKind>(kind)) {
    case FrameKind::kStart:
    case FrameKind::kStop:
    case FrameKind::kAck:
    case FrameKind::kPing:
    case FrameKind::kErr:
    case FrameKind::kGetMode: return length == 4;
    case FrameKind::kMode: return length == 8;
    case FrameKind::kSetVersion: return length == 12;
    case FrameKind::kAddMarker: return length == 20;
    case FrameKind::kCurrentBenchmark: return length >= 16;
    case FrameKind::kSetIntegration: return length >= 20;
  }
  return false;
}

std::string text_of(ByteCursor& body) {
  const uint64_t size = body.u64();
  const Bytes bytes = body.take(size);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::optional<Frame> find_frame(Bytes body) {
  ByteCursor cursor(body);
  const uint32_t kind = cursor.u32();
  if (cursor.failed() || !fits(kind, static_cast<uint32_t>(std::min<size_t>(body.size(), FrameDecoder::kMaxLength)))) return std::nullopt;
  Frame frame;
  frame.kind = static_cast<FrameKind>(kind);
  switch (frame.kind) {
    case FrameKind::kCurrentBenchmark:
      frame.pid = cursor.s32();
      frame.text = text_of(cursor);
      break;
    case FrameKind::kSetIntegration:
      frame.text = text_of(cursor);
      frame.text += ' ' + text_of(cursor);
      break;
    case FrameKind::kAddMarker: {
      frame.pid = cursor.s32();
      const uint32_t marker = cursor.u32();
      if (marker > static_cast<uint32_t>(Marker::kRoundEnd)) return std::nullopt;
      frame.marker = static_cast<Marker>(marker);
      frame.number = cursor.u64();
      break;
    }
    case FrameKind::kSetVersion: frame.number = cursor.u64(); break;
    case FrameKind::kMode: frame.number = cursor.u32(); break;
    default: break;
  }
  if (cursor.failed() || !cursor.at_end()) return std::nullopt;
  return frame;
}

uint32_t FrameDecoder::word(size_t at) const {
  uint32_t value = 0;
  std::memcpy(&value, buffer_.data() + at, kWord);
  return value;
}

std::optional<Frame> FrameDecoder::frame_at(size_t at, uint32_t length) const {
  if (buffer_.size() - at < length) return std::nullopt;
  return find_frame(Bytes(buffer_).subspan(at, length));
}

std::optional<FrameDecoder::Item> FrameDecoder::next(bool quiet) {
  if (position_ > 0) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(position_));
    position_ = 0;
  }
  // A large kind that nobody knows was taken for a second client's length. Nobody goes on, and its body is whole with it.
  if (quiet && waiting_.size() > 1 && available() > 0 && kWord * (waiting_.size() - 1) + available() == waiting_.front()) {
    skip_to(buffer_.size());
    return Item{};
  }
  while (available() >= kWord) {
    const uint32_t first = word(position_);
    bool may_be_ping = false, is_partial = false;
    if (first == 4 && std::find(waiting_.begin(), waiting_.end(), 4U) != waiting_.end()) {
      if (available() < 2 * kWord && !quiet) return std::nullopt;
      const uint32_t second = available() < 2 * kWord ? 0 : word(position_ + kWord);
      may_be_ping = second != 1 && second != 2 && second != 9;
    }
    if (first != 4 || may_be_ping) {
      for (auto length = waiting_.begin(); length != waiting_.end(); ++length) {
        if (!fits(first, *length)) continue;
        std::optional<Frame> frame = frame_at(position_, *length);
        is_partial |= available() < *length;
        if (!frame) continue;
        position_ += *length;
        waiting_.erase(length);
        mixed_ += waiting_.empty() ? 0 : 1;
        return Item{std::move(frame)};
      }
    }
    // Where nobody's body is due, a small word can only be a length, of whatever kind of message: its body is refused with it, not after it.
    if (is_length(first) || (waiting_.empty() && first >= kWord && first < kSmallestText)) {
      if (waiting_.size() >= kMaxWaiting) return resynchronise();
      waiting_.push_back(first);
      position_ += kWord;
      continue;
    }
    if (is_partial || (!waiting_.empty() && available() < waiting_.front())) {
      const size_t at = quiet ? find_whole_frame(buffer_.size()) : buffer_.size();
      if (at == buffer_.size()) return std::nullopt;
      skip_to(at);  // who began the body has died: nobody waits for an answer
      continue;
    }
    return resynchronise();
  }
  return std::nullopt;
}

// Where the next length with its body begins; none before `end`: `end`.
size_t FrameDecoder::find_whole_frame(size_t end) const {
  for (size_t at = position_ + 1; at < end && buffer_.size() - at >= 2 * kWord; ++at) {
    const uint32_t length = word(at);
    if (is_length(length) && frame_at(at + kWord, length)) return at;
  }
  return end;
}

void FrameDecoder::skip_to(size_t at) {
  waiting_.clear();
  skipped_ += at - position_;
  position_ = at;
}

// Neither a length nor a body. To the next whole frame; without one, behind the body that was announced, else to the end.
FrameDecoder::Item FrameDecoder::resynchronise() {
  skip_to(find_whole_frame(waiting_.empty() ? buffer_.size() : std::min<size_t>(buffer_.size(), position_ + waiting_.front())));
  return {};
}

void FrameDecoder::discard() {
  skipped_ += available() + kWord * waiting_.size();
  waiting_.clear();
  buffer_.clear();
  position_ = 0;
}

}  // namespace cicada::benchmark
