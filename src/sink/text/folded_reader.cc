// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include "sink/text/folded.h"
#include "sink/profile_reader.h"

namespace cicada::sink {
namespace {

using namespace profile;

class FoldedReader {
 public:
  FoldedReader(Bytes bytes, const std::string& name)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()), name_(name) {}

  Result<Profile> read() {
    profile_.header.events[0].name = "samples";
    thread_ = profile_.intern_thread(profile_.intern_process(0, 0), 0);
    for (uint64_t number = 1; !text_.empty(); ++number) {
      const size_t end = text_.find('\n');
      std::string_view line = text_.substr(0, end);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty()) continue;
      const Result<void> read = read_line(line);
      if (!read) return read.error().within(fmt::format("{}: line {}", name_, number));
    }
    return std::move(profile_);
  }

 private:
  Result<void> read_line(std::string_view line) {
    const size_t space = line.rfind(' ');
    uint64_t value = 0;
    const std::string_view digits = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
      return make_error(ErrorKind::kCorrupt, "no number at the end; folded stacks read \"main;parse 42\"");
    std::string_view frames = line.substr(0, space);
    Sample sample;
    sample.thread = thread_;
    sample.time_ns = profile_.sample_count();
    if (frames != kNoStack) {
      while (true) {
        const size_t semicolon = frames.find(';');
        sample.stack = profile_.intern_stack(sample.stack, frame(frames.substr(0, semicolon)));
        if (semicolon == std::string_view::npos) break;
        frames.remove_prefix(semicolon + 1);
      }
    }
    sample.value = value;
    if (value > kMaxTotal - total_) return make_error(ErrorKind::kLimit, "values add up to more than cicada can hold ({})", value);
    total_ += value;
    profile_.append_sample(sample);
    return {};
  }

  // A name is all there is: it takes the place of the address.
  FrameId frame(std::string_view text) {
    const StringId name = profile_.intern(text.find('%') == std::string_view::npos ? text : unescape_folded(text));
    const FrameId id = profile_.intern_frame({FrameKind::kNative, {}, 0, name.valid() ? uint64_t{name.value} + 1 : 0, {}});
    if (profile_.locations(id).empty() && name.valid()) {
      const Location location[] = {{.function = profile_.intern_function({name, {}, {}})}};
      profile_.set_locations(id, location);
    }
    return id;
  }

  static constexpr uint64_t kMaxTotal = uint64_t{1} << 62;

  std::string_view text_;
  uint64_t total_ = 0;
  const std::string& name_;
  Profile profile_;
    ThreadId thread_;
};

}  // namespace

Result<Profile> parse_folded(Bytes bytes, const std::string& name) { return FoldedReader(bytes, name).read(); }

}  // namespace cicada::sink
