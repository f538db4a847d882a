// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/event_spec.h"

#include <algorithm>
#include <charconv>

#include "abi/event_cookie.h"

namespace cicada::bpf_source {
namespace {

class SpecParser {
 public:
  explicit SpecParser(std::string_view text) : text_(text) {}

  Result<std::vector<EventSpec>> parse() {
    std::vector<EventSpec> specs;
    do {
      const size_t begin = at_;
      const EventSpec spec = TRY(parse_one());
      const auto same = [&](const EventSpec& other) { return other.type == spec.type; };
      if (std::any_of(specs.begin(), specs.end(), same)) return fail(begin, "{} a second time", spec.type->name);
      if (specs.size() == MAX_EVENTS) return fail(begin, "more than {} events", MAX_EVENTS);
      specs.push_back(spec);
    } while (take(','));
    if (at_ < text_.size()) return fail(at_, "expected a comma or the end, found \"{}\"", text_.substr(at_, 1));
    return specs;
  }

 private:
  Result<EventSpec> parse_one() {
    const size_t begin = at_;
    const std::string_view name = take_until("/,");
    if (name.empty()) return fail(begin, "expected the name of an event");
    EventSpec spec;
    spec.type = find_event_type(name);
    if (spec.type == nullptr) {
      const std::string near = near_event_types(name);
      return fail(begin, "no event \"{}\"{}", name, near.empty() ? "; `cicada record --help` lists them" : "; did you mean " + near + "?");
    }
    if (!take('/')) return spec;
    do {
      TRY(parse_term(spec));
    } while (take(','));
    if (!take('/')) return fail(at_, "expected \"/\" at the end of the terms");
    return spec;
  }

  Result<void> parse_term(EventSpec& spec) {
    const size_t begin = at_;
    const std::string_view name = take_until("=,/");
    if (name != "period" && name != "freq") return fail(begin, "no term \"{}\"; there are period=N and freq=HZ", name);
    if (!take('=')) return fail(at_, "expected \"={}\" after {}", name == "freq" ? "HZ" : "N", name);
    if (spec.period || spec.frequency_hz) return fail(begin, "a second rate: an event has one period or frequency");
    const size_t value_begin = at_;
    const std::string_view digits = take_until(",/");
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size()) return fail(value_begin, "not a number: \"{}\"", digits);
    if (value == 0) return fail(value_begin, "{}: must be more than 0", name);
    (name == "freq" ? spec.frequency_hz : spec.period) = value;
    return {};
  }

  bool take(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  std::string_view take_until(std::string_view ends) {
    const size_t begin = at_;
    at_ = std::min(text_.find_first_of(ends, at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }
  template <typename... Arguments>
  Error fail(size_t at, fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    return make_error(ErrorKind::kInvalid, "{}: column {}: {}", text_, at + 1, fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<std::vector<EventSpec>> parse_event_specs(std::string_view text) { return SpecParser(text).parse(); }

}  // namespace cicada::bpf_source
