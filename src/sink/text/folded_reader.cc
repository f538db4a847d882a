// SPDX-License-Identifier: Apache-2.0
// Beside what we write: what other tools call folded. "# comments", decimals (cut at the sum, so that it stays right), and two columns, before and
// after (difffolded.pl): a file all of whose lines, two at least, end with two numbers. A name may end with a number, too.
#include <charconv>
#include <cmath>
#include <optional>

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
    uint64_t lines = 0;
    bool two_columns = true;
    TRY(for_each_line([&](std::string_view line) -> Result<void> {
      ++lines;
      two_columns = two_columns && take_number(line) && take_number(line) && !line.empty();
      return {};
    }));
    two_columns = two_columns && lines > 1;
    TRY(for_each_line([&](std::string_view line) { return read_line(line, two_columns); }));
    if (two_columns) profile_.header.warnings.emplace_back("two columns of numbers, before and after: these are the second; `cicada diff` compares two files");
    if (rounded_) profile_.header.warnings.emplace_back("decimals were rounded; their sum is right");
    return std::move(profile_);
  }

 private:
  template <typename Read>
  Result<void> for_each_line(Read read) const {
    std::string_view text = text_;
    for (uint64_t number = 1; !text.empty(); ++number) {
      const size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
      if (line.empty() || line.front() == '#') continue;
      const Result<void> done = read(line);
      if (!done) return done.error().within(fmt::format("{}: line {}", name_, number));
    }
    return {};
  }

  // The number at the end of a line; removes it and the one blank before it.
  struct Number {
    uint64_t whole = 0;
    double fraction = 0;
    bool negative = false;
  };
  static std::optional<Number> take_number(std::string_view& line) {
    const size_t blank = line.find_last_of(" \t");
    if (blank == std::string_view::npos) return std::nullopt;
    std::string_view digits = line.substr(blank + 1);
    Number number;
    number.negative = digits.starts_with('-');
    digits.remove_prefix(number.negative ? 1 : 0);
    const char* const last = digits.data() + digits.size();
    auto [end, error] = std::from_chars(digits.data(), last, number.whole);
    if (error != std::errc()) return std::nullopt;
    if (end != last) {
      const auto fraction = std::from_chars(end, last, number.fraction, std::chars_format::fixed);
      if (*end != '.' || (end + 1 != last && (fraction.ec != std::errc() || fraction.ptr != last))) return std::nullopt;
    }
    line = line.substr(0, blank);
    return number;
  }

  Result<void> read_line(std::string_view line, bool two_columns) {
    std::string_view frames = line;
    const std::optional<Number> number = take_number(frames);
    if (!number) return make_error(ErrorKind::kCorrupt, "no number at the end; folded stacks read \"main;parse 42\"");
    if (number->negative) return make_error(ErrorKind::kUnsupported, "a negative number (a difference): give both sides to `cicada diff`");
    if (two_columns) take_number(frames);
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
    sample.value = number->whole;
    if (number->fraction > 0) {
      rounded_ = true;
      carried_ += number->fraction;
      sample.value += static_cast<uint64_t>(std::round(carried_));
      carried_ -= std::round(carried_);
    }
    if (sample.value > kMaxTotal - total_) return make_error(ErrorKind::kLimit, "values add up to more than cicada can hold ({})", sample.value);
    total_ += sample.value;
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
  double carried_ = 0;  // of decimals, not yet in a value
  bool rounded_ = false;
  const std::string& name_;
  Profile profile_;
  ThreadId thread_;
};

}  // namespace

Result<Profile> parse_folded(Bytes bytes, const std::string& name) { return FoldedReader(bytes, name).read(); }

}  // namespace cicada::sink
