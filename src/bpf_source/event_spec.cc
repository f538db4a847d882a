// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/event_spec.h"

#include <linux/bpf.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "abi/event_cookie.h"
#include "bpf_source/field_name.h"
#include "bpf_source/kernel_functions.h"

namespace cicada::bpf_source {
namespace {

constexpr uint64_t kMostHits = 0xffffffff;  // event_cookie
constexpr std::string_view kLettersOfNames = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", kLettersOfTracepoints = "_-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", kLettersOfFields = "_()abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

constexpr std::string_view kUsdt = "usdt", kCounter = "counter:", kTextBegin = "str(";

struct FunctionKind {
  std::string_view name, alias;
  EventKind kind;
  bool at_return;
  uint64_t attach_type = 0;  // of a place in the kernel
};
constexpr FunctionKind kFunctionKinds[] = {{"uprobe", "u", EventKind::kUserFunction, false},
                                           {"uretprobe", "ur", EventKind::kUserFunction, true},
                                           {"kprobe", "k", EventKind::kKernelFunction, false},
                                           {"kretprobe", "kr", EventKind::kKernelFunction, true},
                                           {"fentry", "f", EventKind::kKernelPlace, false, BPF_TRACE_FENTRY},
                                           {"fexit", "fr", EventKind::kKernelPlace, true, BPF_TRACE_FEXIT},
                                           {"rawtp", "rawtp", EventKind::kKernelPlace, false, BPF_TRACE_RAW_TP},
                                           {kUsdt, kUsdt, EventKind::kUserFunction, false}};

class SpecParser {
 public:
  explicit SpecParser(std::string_view text) : text_(text) {}

  Result<std::vector<EventSpec>> parse() {
    std::vector<EventSpec> specs;
    do {
      const size_t begin = at_;
      const EventSpec spec = TRY(parse_one());
      const auto same = [&](const EventSpec& other) { return other.type == spec.type; };
      if (std::any_of(specs.begin(), specs.end(), same)) return fail(begin, "{} a second time", spec.type.name);
      if (specs.size() == MAX_EVENTS) return fail(begin, "more than {} events", MAX_EVENTS);
      specs.push_back(spec);
    } while (take(','));
    if (at_ < text_.size()) return fail(at_, "expected a comma or the end, found \"{}\"", text_.substr(at_, 1));
    return specs;
  }

 private:
  Result<EventSpec> parse_one() {
    const size_t begin = at_;
    EventSpec spec;
    const FunctionKind* function = take_function_kind();
    if (function != nullptr) {
      TRY(parse_function(spec, *function));
    } else {
      TRY(parse_without_kind(spec, begin));
    }
    if (!take('/')) return spec;
    do {
      TRY(parse_term(spec));
    } while (take(','));
    if (!take('/')) return fail(at_, "expected \"/\" at the end of the terms");
    if (spec.unit != profile::Unit::kEvents && spec.value.empty()) return fail(begin, "unit= goes with value=FIELD");
    if (spec.times_calls) TRY(finish_timed(spec, begin));
    if (!spec.maybe_function.empty()) spec.maybe_function = text_.substr(begin, at_ - begin);
    return spec;
  }

  Result<void> finish_timed(EventSpec& spec, size_t begin) const {
    if (spec.place.at_return) return fail(begin, "return times calls from where they begin: u: or k:");
    if (spec.place.is_line) return fail(begin, "return times calls of functions, not of lines");
    if (spec.place.offset != 0) return fail(begin, "return times calls from where they begin: no offset");
    if (!spec.value.empty()) return fail(begin, "value= does not go with return: a call counts the time that it took");
    if (spec.type.kind == EventKind::kTracepoint) return {};
    spec.unit = profile::Unit::kNanoseconds;
    spec.type.name += "/return";
    return {};
  }

  // The name of a clock, counter or tracepoint; else a function's.
  Result<void> parse_without_kind(EventSpec& spec, size_t begin) {
    const auto parse_as_function = [&]() -> Result<void> {
      at_ = begin;
      return parse_function(spec, kFunctionKinds[0]);
    };
    if (text_.substr(at_).starts_with('/') || text_.substr(at_).starts_with("./") || text_.substr(at_).starts_with("../")) return parse_as_function();
    const std::string_view name = take_until("/,");
    if (name.empty()) return fail(begin, "expected the name of an event");
    const size_t colon = name.find(':');
    if (name.starts_with('"') || name.find("::") != std::string_view::npos) return parse_as_function();
    if (name.find_last_not_of("0123456789") == name.rfind(':') && !name.ends_with(':')) return parse_as_function();  // FILE:LINE
    if (name.starts_with(kCounter)) {
      const std::string_view own = name.substr(kCounter.size());
      const EventType* type = find_event_type(own);
      if (type == nullptr) return fail(begin + kCounter.size(), "no clock or counter \"{}\"; {} (of a function: u:counter:{})", own, near_event_types(own).empty() ? "`cicada record --help` lists them" : "did you mean " + near_event_types(own) + "?", own);
      spec.type = *type;
      return {};
    }
    if (colon != std::string_view::npos) {
      if (colon + 1 == name.size() && at_ < text_.size() && text_[at_] == '/') return parse_as_function();  // IMAGE:/REGEX/
      const bool is_file = name.substr(0, colon).find_first_of("./+") != std::string_view::npos && name.find(':', colon + 1) == std::string_view::npos;
      if (is_file) return parse_as_function();
      spec.type = TRY(parse_tracepoint(begin, name));
      if (spec.type.name == name) spec.maybe_function = name;
      return {};
    }
    const bool is_name = name.find_first_not_of(kLettersOfNames) == std::string_view::npos && (name[0] < '0' || name[0] > '9');
    if (const EventType* type = find_event_type(name); type != nullptr) {
      spec.type = *type;
      if (is_name) spec.maybe_function = name;
      return {};
    }
    const std::string near = near_event_types(name);
    if (!near.empty() || !is_name) return fail(begin, "no event \"{}\"; {} (of a function: u:{})", name, near.empty() ? "`cicada record --help` lists them" : "did you mean " + near + "?", name);
    return parse_as_function();
  }

  // Null: no function's.
  const FunctionKind* take_function_kind() {
    const std::string_view kind = text_.substr(at_, text_.find(':', at_) - at_);
    const auto* found = std::find_if(std::begin(kFunctionKinds), std::end(kFunctionKinds), [&](const FunctionKind& one) { return one.name == kind || one.alias == kind; });
    if (found == std::end(kFunctionKinds) || at_ + kind.size() == text_.size()) return nullptr;
    at_ += kind.size() + 1;
    return found;
  }

  // What follows the kind.
  Result<void> parse_function(EventSpec& spec, const FunctionKind& kind) {
    const size_t begin = at_;
    at_ = end_of_function_place(text_, begin);
    const std::string_view text = text_.substr(begin, at_ - begin);
    spec.place.at_return = kind.at_return;
    PlaceError error;
    if (!(kind.name == kUsdt ? parse_usdt_place(text, spec.place, error) : parse_function_place(text, spec.place, error))) return fail(begin + error.at, "{}", error.message);
    const bool is_of_kernel = kind.kind == EventKind::kKernelFunction || kind.kind == EventKind::kKernelPlace;
    const bool is_plain = spec.place.image.empty() && !spec.place.is_line && (spec.place.offset == 0 || kind.kind == EventKind::kKernelFunction);
    if (is_of_kernel && !is_plain) return fail(begin, "expected the name of a {} of the kernel, as in {}", kind.attach_type == BPF_TRACE_RAW_TP ? "tracepoint" : "function", kind.attach_type == BPF_TRACE_RAW_TP ? "rawtp:sched_switch" : fmt::format("{}:vfs_read", kind.alias));
    if (is_of_kernel && is_used_by_programs(spec.place.function)) return fail(begin, "{} is what a sample is taken with: the kernel would wait for itself", spec.place.function);
    if (is_of_kernel && spec.place.function.find_first_of("*?/") != std::string::npos) return fail(begin, "of the kernel one at a time");
    spec.type = EventType{fmt::format("{}:{}", kind.alias, text), {}, kind.kind, 0, kind.attach_type};
    return {};
  }

  // [KIND:]CATEGORY:NAME
  Result<EventType> parse_tracepoint(size_t begin, std::string_view text) const {
    const std::string_view kind = text.substr(0, text.find(':'));
    if (kind == "tracepoint" || kind == "t") {
      begin += kind.size() + 1;
      text.remove_prefix(kind.size() + 1);
    } else if (text.find(':', kind.size() + 1) != std::string_view::npos) {
      return fail(begin, "no kind of event \"{}\"; there are uprobe (u), uretprobe (ur), kprobe (k), kretprobe (kr), usdt, fentry (f), fexit (fr), rawtp and tracepoint (t), as in t:sched:sched_switch", kind);
    }
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size()) return fail(begin, "expected CATEGORY:NAME of a tracepoint, as in sched:sched_switch");
    size_t odd = text.find_first_not_of(kLettersOfTracepoints);
    if (odd == colon) odd = text.find_first_not_of(kLettersOfTracepoints, colon + 1);
    if (odd != std::string_view::npos) return fail(begin + odd, "\"{}\" is in no tracepoint's name", text.substr(odd, 1));
    return EventType{std::string(text), {}, EventKind::kTracepoint, PERF_TYPE_TRACEPOINT, 0};
  }

  Result<void> parse_term(EventSpec& spec) {
    const bool is_hit = is_probe(spec.type.kind);
    const size_t begin = at_;
    const std::string_view name = take_while(kLettersOfFields);
    const size_t sign_begin = at_;
    const std::string_view sign = take_while("=!<>");
    if (is_hit && !name.empty() && !sign.empty() && sign != "=") return parse_filter(spec, begin, name, sign_begin, sign);
    at_ = begin;
    const std::string_view whole = take_until("=,/");
    const bool is_known_function = is_hit && !is_looked_up(spec) && !spec.place.is_usdt;
    const bool is_function = is_known_function || (is_hit && !spec.maybe_function.empty());
    if (whole == "return" && is_function) {
      if (spec.times_calls) return fail(begin, "return a second time");
      spec.times_calls = true;
      return {};
    }
    if (whole == "value" || whole == "unit" || whole == "by") {
      if (!is_hit) return fail(begin, "{}= is for probes and tracepoints", whole);
    } else if (whole != "period" && whole != "freq" && whole != "stop") {
      return fail(begin, "no term \"{}\"; there are period=N, stop=N and {}", whole, is_known_function ? "return, value=FIELD, unit=UNIT, by=FIELD and FIELD==N, !=, <, <=, >, >=" : is_hit ? "value=FIELD, unit=UNIT, by=FIELD and FIELD==N, !=, <, <=, >, >=" : "freq=HZ");
    }
    if (!take('=')) return fail(at_, "expected \"={}\" after {}", whole == "freq" ? "HZ" : whole == "value" || whole == "by" ? "FIELD" : whole == "unit" ? "UNIT" : "N", whole);
    return whole == "period" || whole == "freq" || whole == "stop" ? parse_rate(spec, begin, whole) : parse_value(spec, begin, whole);
  }

  Result<void> parse_rate(EventSpec& spec, size_t begin, std::string_view name) {
    const bool is_hit = is_probe(spec.type.kind);
    if (is_hit && name == "freq") return fail(begin, "freq= is for clocks and counters; here period=N takes one of N hits");
    if (name == "stop" && spec.stop_after != 0) return fail(begin, "stop= a second time");
    if (name != "stop" && (spec.period || spec.frequency_hz)) return fail(begin, "a second rate: an event has one period or frequency");
    const size_t value_begin = at_;
    const std::string_view digits = take_until(",/");
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size()) return fail(value_begin, "not a number: \"{}\"", digits);
    if (value == 0) return fail(value_begin, "{}: must be more than 0", name);
    if (name == "stop") {
      spec.stop_after = value;
      return {};
    }
    if (is_hit && value > kMostHits) return fail(value_begin, "one of {} hits; {} at most", value, kMostHits);
    (name == "freq" ? spec.frequency_hz : spec.period) = value;
    return {};
  }

  Result<void> parse_value(EventSpec& spec, size_t begin, std::string_view name) {
    const size_t value_begin = at_;
    const std::string_view text = take_until(",/");
    if (name != "unit") {
      std::string& field = name == "value" ? spec.value : spec.group;
      if (!field.empty()) return fail(begin, "a second {}=: an event has one", name);
      if (name == "by" && text.starts_with(kTextBegin)) return parse_text(spec, value_begin, text);
      const event_field found = TRY(parse_field(spec, value_begin, text));
      field = text;
      (name == "value" ? spec.fields.value : spec.fields.group) = found;
      return {};
    }
    constexpr std::pair<std::string_view, profile::Unit> kUnits[] = {{"events", profile::Unit::kEvents}, {"bytes", profile::Unit::kBytes}, {"ns", profile::Unit::kNanoseconds}};
    const auto* unit = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& one) { return one.first == text; });
    if (unit == std::end(kUnits)) return fail(value_begin, "no unit \"{}\"; there are events, bytes and ns", text);
    spec.unit = unit->second;
    return {};
  }

  // str(FIELD)
  Result<void> parse_text(EventSpec& spec, size_t begin, std::string_view text) const {
    const size_t field_begin = begin + kTextBegin.size();
    std::string_view field = text.substr(kTextBegin.size());
    if (!field.ends_with(')')) return fail(begin + text.size(), "expected \")\" behind the field's name, as in by=str(arg0)");
    field.remove_suffix(1);
    if (field.find('(') != std::string_view::npos) return fail(field_begin, "str() takes a whole field: its low bits are no address");
    spec.fields.group = TRY(parse_field(spec, field_begin, field));
    spec.group = field;
    spec.group_is_text = true;
    // Of a tracepoint tracefs says it.
    if (!is_looked_up(spec)) spec.fields.group_text = spec.type.kind == EventKind::kKernelFunction ? TEXT_OF_EITHER : TEXT_OF_USER;
    return {};
  }

  // FIELD, a comparison, and a number.
  Result<void> parse_filter(EventSpec& spec, size_t begin, std::string_view name, size_t sign_begin, std::string_view sign) {
    constexpr std::pair<std::string_view, comparison> kSigns[] = {{"==", IS_EQUAL}, {"!=", IS_NOT_EQUAL}, {"<", IS_LESS}, {"<=", IS_LESS_OR_EQUAL}, {">", IS_GREATER}, {">=", IS_GREATER_OR_EQUAL}};
    const auto* found = std::find_if(std::begin(kSigns), std::end(kSigns), [&](const auto& one) { return one.first == sign; });
    if (found == std::end(kSigns)) return fail(sign_begin, "no comparison \"{}\"; there are ==, !=, <, <=, > and >=", sign);
    if (spec.filters.size() == MAX_FIELD_FILTERS) return fail(begin, "more than {} comparisons", MAX_FIELD_FILTERS);
    const size_t number_begin = at_;
    std::string_view text = take_until(",/");
    const std::string_view whole = text;
    const bool is_negative = text.starts_with('-');
    text.remove_prefix(is_negative ? 1 : 0);
    const bool is_hexadecimal = text.starts_with("0x");
    text.remove_prefix(is_hexadecimal ? 2 : 0);
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, is_hexadecimal ? 16 : 10);
    const uint64_t most = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) + (is_negative ? 1 : 0);
    if (error == std::errc::invalid_argument || end != text.data() + text.size()) return fail(number_begin, "not a number: \"{}\"", whole);
    if (error != std::errc{} || number > most) return fail(number_begin, "{}: more than 63 bits", whole);
    const event_field field = TRY(parse_field(spec, begin, name));
    const bool is_register = (!is_looked_up(spec) && field.kind != FIELD_OF_ARGUMENT && !name.ends_with(')')) || (name.starts_with('u') && name.ends_with(')'));
    const std::string_view plain = name.ends_with(')') ? name.substr(name.find('(') + 1, name.size() - name.find('(') - 2) : name;
    const bool is_order = found->second != IS_EQUAL && found->second != IS_NOT_EQUAL;
    if (is_register && (is_negative || (number == 0 && is_order && found->second != IS_GREATER))) return fail(begin, "{} is taken without a sign here; s32({}) or s64({}) has one", name, plain, plain);
    const auto signed_number = static_cast<int64_t>(is_negative ? 0 - number : number);
    if (!is_looked_up(spec)) spec.fields.filter[spec.fields.filters++] = {field, static_cast<uint32_t>(found->second), 0, signed_number};
    spec.filters.push_back({std::string(name), found->second, signed_number});
    return {};
  }

  // Fields are by name until the kernel says where they are.
  static bool is_looked_up(const EventSpec& spec) { return spec.type.kind == EventKind::kTracepoint || spec.type.kind == EventKind::kKernelPlace; }

  // Of these only its name. An argument's name is kept: where it is says debug information.
  Result<event_field> parse_field(EventSpec& spec, size_t begin, std::string_view text) const {
    if (text.starts_with(kTextBegin)) return fail(begin, "str() goes with by= only: texts are neither counted nor compared");
    const std::optional<FieldName> name = parse_field_name(text);
    if (!name) return fail(begin, "no name of a field: \"{}\"", text);
    if (is_looked_up(spec)) return event_field{};
    if (spec.place.is_usdt) {
      const std::optional<event_field> argument = find_argument(*name);
      return argument ? Result<event_field>(*argument) : fail(begin, "no {} of a USDT probe; there are arg0 to arg11", name->name);
    }
    const std::optional<event_field> found = find_register(*name, spec.place.at_return);
    const bool is_named = !found && !spec.place.at_return && may_be_argument(name->name);
    if (!found && !is_named) return fail(begin, "no {} {}; there {} {}", name->name, spec.place.at_return ? "where a function returns" : "where a function begins", spec.place.at_return ? "is" : "are", registers_of(spec.place.at_return));
    if (spec.place.offset != 0 || spec.place.is_line) return fail(begin, "{} is known where a function begins, not behind that", name->name);
    return is_named ? name_argument(spec.arguments, *name) : *found;
  }

  bool take(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  std::string_view take_while(std::string_view letters) {
    const size_t begin = at_;
    at_ = std::min(text_.find_first_not_of(letters, at_), text_.size());
    return text_.substr(begin, at_ - begin);
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
