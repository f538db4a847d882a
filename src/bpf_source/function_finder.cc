// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/function_finder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <unordered_map>

#include <fmt/ranges.h>

#include "abi/event_cookie.h"
#include "base/near_names.h"
#include "bpf_source/field_name.h"
#include "bpf_source/indirect_functions.h"
#include "bpf_source/probed_instruction.h"

namespace cicada::bpf_source {
namespace {

// Of files that no process maps: the registry has no number for them.
constexpr uint32_t kFirstOwnNumber = 1U << 30;
constexpr size_t kMostNames = 3, kMostParameters = 12;  // in a message

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// At an offset of the file; shorter at its end.
std::vector<uint8_t> read_code(int fd, FileOffset offset) {
  std::vector<uint8_t> code(kMaxInstructionBytes);
  const ssize_t size = ::pread(fd, code.data(), code.size(), static_cast<off_t>(offset.value));
  code.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return code;
}

// "a, b"; a comma of C++'s is within brackets.
void append_names(std::string_view list, std::vector<std::string>& names) {
  int open = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    open += c == '(' || c == '<' ? 1 : c == ')' || c == '>' ? -1 : 0;
    if (c != ',' || (open > 0 && i < list.size())) continue;
    const std::string_view name = list.substr(begin, i - begin);
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
    begin = i + 2;
  }
}

// What is read of a file that is far away is a copy, and nobody runs that.
bool is_copy(int fd, std::string_view path) {
  std::array<char, 64> target{};
  const ssize_t size = ::readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target.data(), target.size());
  return size > 0 && std::string_view(target.data(), static_cast<size_t>(size)).starts_with("/memfd:") && !path.starts_with("/memfd:");
}

// "siez; did you mean size? It has data, size".
std::string describe_missing(const std::string& name, std::span<const symbolize::FunctionParameter> known) {
  std::vector<std::string> names;
  for (const symbolize::FunctionParameter& one : known) names.push_back(one.name);
  const std::string near = near_names(name, names);
  if (names.size() > kMostParameters) names.resize(kMostParameters);
  return fmt::format("{}{}{}", name, near.empty() ? "" : fmt::format("; did you mean {}?", near), names.empty() ? "; it has none" : fmt::format("{} has {}", near.empty() ? "; it" : " It", fmt::join(names, ", ")));
}

}  // namespace

struct FunctionFinder::File {
  process::ImageInfo image;
  UniqueFd fd;
  struct stat status {};
  bool is_go = false;
};

std::string FunctionFinder::text_of(Reason reason, const LeftOut& left) {
  switch (reason) {
    case kIndirect: return "whose code is chosen when a program starts (IFUNC)";
    case kChanged: return "whose arguments the compiler has changed";
    case kGoArguments: return "whose arguments Go passes in registers of its own";
    case kGoReturn: return "of Go that may end in another one: the kernel cannot catch its return, because Go moves stacks";
    case kGoCall: return "of Go, whose calls cannot be timed, because Go moves stacks";
    case kNoReturn: return "that never returns";
    case kWithin: return "without an instruction there";
    case kUnsafe: return "whose first instruction the kernel would take for a jump";
    case kNoArgument: return "without so many arguments";
    case kUnreadable: return "whose argument is no whole number in a register or in memory";
    case kTooManyFields: return "whose arguments are in other places than those of a thousand others";
    case kNoDebugInformation: return "without debug information about its parameters (arg0 to arg5 need none)";
    case kNoParameter: return "without a parameter " + left.parameter;
    case kOptimizedAway: return fmt::format("whose {} is in no register: the compiler has optimized it away", left.parameter);
    case kFloatingPoint: return fmt::format("whose {} is a floating-point number", left.parameter);
    case kNoNumber: return fmt::format("whose {} is no number", left.parameter);
    case kUncertain: return fmt::format("whose {} is in a place that its debug information leaves open", left.parameter);
    case kReasons: break;
  }
  return "";
}

FunctionFinder::Reason FunctionFinder::reason_of(symbolize::ParameterProblem problem) {
  switch (problem) {
    case symbolize::ParameterProblem::kOptimizedAway: return kOptimizedAway;
    case symbolize::ParameterProblem::kFloatingPoint: return kFloatingPoint;
    case symbolize::ParameterProblem::kNoNumber: return kNoNumber;
    case symbolize::ParameterProblem::kNone: case symbolize::ParameterProblem::kUncertain: break;
  }
  return kUncertain;
}

std::vector<size_t> FunctionFinder::events_that_mean(const std::string& path) const {
  std::vector<size_t> wanted;
  for (size_t i = 0; i < events_.size() && !path.starts_with('['); ++i) {
    if (is_meant(events_[i].place, path)) wanted.push_back(i);
  }
  return wanted;
}

bool FunctionFinder::is_any_wanting(const std::string& path) const {
  const std::vector<size_t> wanted = events_that_mean(path);
  return std::any_of(wanted.begin(), wanted.end(), [&](size_t event) { return sums_[event].images == 0 || !events_[event].place.image.starts_with('/'); });
}

Result<std::vector<FunctionFinder::Found>> FunctionFinder::look_into(uint32_t image, const std::stop_token& stop) {
  auto info = images_.find(image);
  if (!info) return make_error(ErrorKind::kNotFound, "image {}: no such image", image);
  const std::vector<size_t> wanted = events_that_mean(info->path);
  if (wanted.empty()) return std::vector<Found>{};
  File file{*std::move(info), TRY(images_.open(image, stop))};
  return look_into(file, wanted, stop);
}

std::vector<FunctionFinder::Found> FunctionFinder::look_into_paths(const std::stop_token& stop) {
  std::vector<Found> all;
  uint32_t number = kFirstOwnNumber;
  for (size_t i = 0; i < events_.size(); ++i) {
    const std::string& path = events_[i].place.image;
    if (sums_[i].images != 0 || !path.starts_with('/')) continue;
    File file;
    file.image.id = number++;
    file.image.path = path;
    auto opened = reader_->open_file(path, whole_machine_ ? nullptr : images_.root(1), stop);
    if (opened) file.fd = *std::move(opened);
    auto found = opened ? look_into(file, std::span(&i, 1), stop) : opened.error();
    if (!found) sums_[i].error = found.error();
    for (size_t k = 0; found && k < found->size(); ++k) all.push_back(std::move((*found)[k]));
  }
  return all;
}

Result<std::vector<FunctionFinder::Found>> FunctionFinder::look_into(File& file, std::span<const size_t> wanted, const std::stop_token& stop) {
  const auto failed = [&](const Error& error) {
    for (const size_t event : wanted)
      if (!sums_[event].error && !stop.stop_requested()) sums_[event].error = error;
    return error;
  };
  if (::fstat(file.fd.get(), &file.status) != 0) return failed(errno_error(errno, file.image.path));
  if (file.image.id >= kFirstOwnNumber) file.image.owner = file.status.st_uid;
  std::vector<size_t> functions, usdt;
  for (const size_t event : wanted) (events_[event].place.is_usdt ? usdt : functions).push_back(event);
  std::vector<Found> all;
  if (const auto looked = functions.empty() ? Result<void>() : look_for_functions(file, functions, all, stop); !looked) return failed(looked.error());
  if (const auto looked = usdt.empty() ? Result<void>() : look_for_usdt(file, usdt, all, stop); !looked) return failed(looked.error());
  return all;
}

Result<void> FunctionFinder::look_for_functions(File& file, std::span<const size_t> wanted, std::vector<Found>& all, const std::stop_token& stop) {
  std::vector<std::string> patterns;
  for (const size_t event : wanted) patterns.push_back(events_[event].place.function);
  const symbolize::FunctionSearch searched = TRY(reader_->find_functions(file.image, file.fd.get(), patterns, kMostPlaces + 1, stop));
  file.is_go = searched.is_go;
  for (size_t k = 0; k < wanted.size(); ++k) {
    Sum& sum = sums_[wanted[k]];
    ++sum.images;
    sum.is_cut_short = sum.is_cut_short || searched.cut_short;
    if (k < searched.near.size()) append_names(searched.near[k], sum.near);
    sum.has_symbols = sum.has_symbols || searched.has_symbols;
    if (is_known(wanted[k], file)) continue;
    std::vector<symbolize::FoundFunction> functions;
    std::copy_if(searched.functions.begin(), searched.functions.end(), std::back_inserter(functions), [&](const auto& function) { return function.pattern == k; });
    const bool times_calls = events_[wanted[k]].times_calls;
    const auto none_of = [&](probe_role role, bool by_kernel) { return Found{wanted[k], file.image.path, {}, static_cast<uint32_t>(times_calls ? role : ROLE_HIT), by_kernel, {}}; };
    Found found[] = {none_of(ROLE_RETURN, false), none_of(ROLE_RETURNED, true), none_of(ROLE_BEGIN, false)};
    const bool with_returns = times_calls || events_[wanted[k]].place.at_return;
    const std::vector<uint32_t> fields = TRY(bind_all(file, wanted[k], functions, stop));
    TRY(with_returns ? add_returns(file, functions, fields, {found[0], found[1], found[2]}, stop) : add_begins(file, functions, fields, found[2], stop));
    TRY(keep(file, found, all));
  }
  return {};
}

Result<void> FunctionFinder::look_for_usdt(const File& file, std::span<const size_t> wanted, std::vector<Found>& all, const std::stop_token& stop) {
  std::vector<std::string> patterns;
  for (const size_t event : wanted) patterns.push_back(events_[event].place.function);
  const elf::UsdtSearch searched = TRY(reader_->find_usdt(file.image, file.fd.get(), patterns, kMostPlaces + 1, stop));
  for (size_t k = 0; k < wanted.size(); ++k) {
    Sum& sum = sums_[wanted[k]];
    ++sum.images;
    sum.is_cut_short = sum.is_cut_short || searched.cut_short;
    sum.has_symbols = sum.has_symbols || searched.notes != 0;
    if (k < searched.near.size()) append_names(searched.near[k], sum.near);
    if (is_known(wanted[k], file)) continue;
    Found found{wanted[k], file.image.path, {}, ROLE_HIT, false, {}};
    for (const elf::FoundUsdt& probe : searched.probes) {
      if (probe.pattern != k) continue;
      if (is_taken_for_a_jump(read_code(file.fd.get(), probe.offset))) sum.leave_out(kUnsafe, probe.name);
      else if (const auto fields = bind(wanted[k], probe)) found.places.push_back({probe.offset, probe.name, probe.semaphore, *fields, probe.arguments});
    }
    TRY(keep(file, std::span(&found, 1), all));
  }
  return {};
}

std::optional<uint32_t> FunctionFinder::bind(size_t event, const elf::FoundUsdt& probe) {
  event_fields fields = events_[event].fields;
  if (fields.filters == 0 && fields.value.bytes == 0 && fields.group.bytes == 0) return 0;
  const ArgumentProblem problem = bind_arguments(fields, probe.arguments);
  if (problem != ArgumentProblem::kNone) {
    sums_[event].leave_out(problem == ArgumentProblem::kMissing ? kNoArgument : kUnreadable, probe.name);
    return std::nullopt;
  }
  return number_fields(event, fields, probe.name);
}

std::optional<uint32_t> FunctionFinder::bind(size_t event, const symbolize::FoundFunction& function, const symbolize::FunctionParameters& known) {
  Sum& sum = sums_[event];
  std::vector<event_field> arguments;
  for (const std::string& name : events_[event].arguments) {
    const auto found = std::find_if(known.parameters.begin(), known.parameters.end(), [&](const symbolize::FunctionParameter& one) { return one.name == name; });
    std::optional<Reason> reason;
    if (!known.is_described) reason = kNoDebugInformation;
    else if (found == known.parameters.end()) reason = kNoParameter;
    else if (found->problem != symbolize::ParameterProblem::kNone) reason = reason_of(found->problem);
    else if (found->by_convention && function.changed_arguments) reason = kUncertain;
    if (reason) {
      sum.leave_out(*reason, function.name, reason == kNoParameter ? describe_missing(name, known.parameters) : name);
      return std::nullopt;
    }
    arguments.push_back(found->place);
  }
  event_fields fields = events_[event].fields;
  CHECK(bind_arguments(fields, arguments) == ArgumentProblem::kNone);
  return number_fields(event, fields, function.name);
}

Result<std::vector<uint32_t>> FunctionFinder::bind_all(const File& file, size_t event, std::vector<symbolize::FoundFunction>& functions, const std::stop_token& stop) {
  const Event& wanted = events_[event];
  if (wanted.arguments.empty()) return std::vector<uint32_t>(functions.size());
  std::vector<symbolize::FoundFunction> candidates;
  std::vector<LinkAddr> begins;
  for (symbolize::FoundFunction& function : functions) {
    // Where an IFUNC leads its own parameters are, and nobody has looked for them.
    if (function.indirect || file.is_go) {
      sums_[event].leave_out(file.is_go ? kGoArguments : kIndirect, function.name);
      continue;
    }
    begins.push_back(function.begin);
    candidates.push_back(std::move(function));
  }
  const std::vector<symbolize::FunctionParameters> known = TRY(reader_->find_parameters(file.image, file.fd.get(), begins, stop));
  std::vector<uint32_t> fields;
  functions.clear();
  for (size_t i = 0; i < candidates.size(); ++i) {
    const auto number = bind(event, candidates[i], known[i]);
    if (!number) continue;
    fields.push_back(*number);
    functions.push_back(std::move(candidates[i]));
  }
  return fields;
}

std::optional<uint32_t> FunctionFinder::number_fields(size_t event, const event_fields& fields, const std::string& place) {
  const auto same = std::find_if(place_fields_.begin() + 1, place_fields_.end(), [&](const event_fields& other) { return std::memcmp(&other, &fields, sizeof fields) == 0; });
  const auto index = static_cast<uint32_t>(same - place_fields_.begin());
  if (index == MAX_PLACE_FIELDS) {
    sums_[event].leave_out(kTooManyFields, place);
    return std::nullopt;
  }
  if (same == place_fields_.end()) place_fields_.push_back(fields);
  return index;
}

bool FunctionFinder::is_known(size_t event, const File& file) const { return known_.contains({event, file.status.st_dev, file.status.st_ino}); }

Result<void> FunctionFinder::keep(const File& file, std::span<Found> found, std::vector<Found>& all) {
  if (std::all_of(found.begin(), found.end(), [](const Found& one) { return one.places.empty(); })) return {};
  if (is_copy(file.fd.get(), file.image.path)) return make_error(ErrorKind::kUnsupported, "{}: it cannot be probed: it is on a file system that is far away", file.image.path);
  known_.insert({found.front().event, file.status.st_dev, file.status.st_ino});
  for (Found& one : found) {
    if (one.places.empty()) continue;
    std::sort(one.places.begin(), one.places.end(), [](const Place& a, const Place& b) { return a.offset < b.offset; });
    const auto twice = std::unique(one.places.begin(), one.places.end(), [](const Place& a, const Place& b) { return a.offset == b.offset; });
    one.places.erase(twice, one.places.end());
    one.fd = UniqueFd(::fcntl(file.fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!one.fd) return errno_error(errno, file.image.path);
    all.push_back(std::move(one));
  }
  return {};
}

// Nothing: it is left out.
std::optional<FileOffset> FunctionFinder::find_begin(const File& file, size_t event, const symbolize::FoundFunction& function) {
  const Event& wanted = events_[event];
  Sum& sum = sums_[event];
  if (function.indirect) {
    const auto leads_to = wanted.place.offset == 0 ? find_indirect_function(file.status, std::string(file_name(file.image.path)), function.name) : std::nullopt;
    if (!leads_to) sum.leave_out(kIndirect, function.name);
    return leads_to;
  }
  if (wanted.needs_arguments && (file.is_go || function.changed_arguments)) {
    sum.leave_out(file.is_go ? kGoArguments : kChanged, function.name);
    return std::nullopt;
  }
  return function.code.begin;
}

Result<void> FunctionFinder::add_begins(const File& file, std::span<const symbolize::FoundFunction> functions, std::span<const uint32_t> fields, Found& found, const std::stop_token& stop) {
  Sum& sum = sums_[found.event];
  for (size_t i = 0; i < functions.size(); ++i) {
    const symbolize::FoundFunction& function = functions[i];
    const uint64_t within = events_[found.event].place.offset + function.within;
    const std::optional<FileOffset> begin = find_begin(file, found.event, function);
    if (!begin) continue;
    if (within != 0) {
      const bool is_outside = function.code.bytes != 0 && within >= function.code.bytes;
      const Result<void> checked = is_outside ? make_error(ErrorKind::kInvalid, "outside") : reader_->check_instruction(file.image, file.fd.get(), *begin, within, stop);
      if (!checked && checked.error().kind() != ErrorKind::kInvalid) return checked.error();
      if (!checked) {
        sum.leave_out(kWithin, function.name);
        continue;
      }
    }
    const FileOffset offset = *begin + within;
    const std::vector<uint8_t> code = read_code(file.fd.get(), offset);
    if (is_taken_for_a_jump(code)) sum.leave_out(kUnsafe, function.name);
    else found.places.push_back({within == 0 ? offset + bytes_of_landing_pad(code) : offset, function.name, {}, fields[i]});
  }
  return {};
}

// A probe at each instruction that returns, where a function is left by nothing else. The kernel's way puts an address of its own on the stack. Where calls are timed, one
// where they begin, too.
Result<void> FunctionFinder::add_returns(const File& file, std::span<const symbolize::FoundFunction> functions, std::span<const uint32_t> fields, const Places& found, const std::stop_token& stop) {
  const size_t event = found.returns.event;
  const bool times_calls = events_[event].times_calls;
  Sum& sum = sums_[event];
  std::vector<symbolize::FunctionCode> codes;
  for (const symbolize::FoundFunction& function : functions) codes.push_back(function.indirect ? symbolize::FunctionCode{} : function.code);
  const std::vector<symbolize::FunctionReturns> returns = TRY(reader_->find_returns(file.image, file.fd.get(), codes, stop));
  std::unordered_map<uint64_t, uint32_t> numbers;  // by the offset of a return: functions that overlap share them, and count as one
  for (size_t i = 0; i < functions.size(); ++i) {
    const std::string& name = functions[i].name;
    const std::vector<FileOffset>& offsets = returns[i].offsets;
    const bool are_known = !returns[i].leaves_otherwise && std::all_of(offsets.begin(), offsets.end(), [&](FileOffset offset) { return is_return(read_code(file.fd.get(), offset)); });
    if (are_known && offsets.empty()) {
      sum.leave_out(kNoReturn, name);
      continue;
    }
    Place begin{FileOffset(0), name};
    if (times_calls || !are_known) {
      const std::optional<FileOffset> offset = find_begin(file, event, functions[i]);
      if (!offset) continue;
      const std::vector<uint8_t> code = read_code(file.fd.get(), *offset);
      if (file.is_go || is_taken_for_a_jump(code)) {
        sum.leave_out(!file.is_go ? kUnsafe : times_calls ? kGoCall : kGoReturn, name);
        continue;
      }
      if (times_calls) {
        begin.number = cookie_place(timed_functions_++ % MAX_COOKIE_FUNCTIONS, fields[i]);
        for (size_t k = 0; k < offsets.size() && are_known; ++k) begin.number = numbers.try_emplace(offsets[k].value, begin.number).first->second;
        if (cookie_fields(place_cookie(0, ROLE_BEGIN, begin.number)) != fields[i]) {
          sum.leave_out(kUncertain, name, events_[event].arguments.front());
          continue;
        }
        found.begins.places.push_back({*offset + bytes_of_landing_pad(code), name, {}, begin.number});
      }
      begin.offset = *offset;
    }
    if (!are_known) {
      found.by_kernel.places.push_back(begin);
      ++sum.by_kernel.count;
      sum.by_kernel.function = name;
    }
    for (size_t k = 0; k < offsets.size() && are_known; ++k) found.returns.places.push_back({offsets[k], name, {}, begin.number});
  }
  return {};
}

Error FunctionFinder::nothing_found(size_t event) const {
  const Sum& sum = sums_[event];
  const std::string& name = events_[event].name;
  const FunctionPlace& place = events_[event].place;
  for (size_t reason = 0; reason < kReasons; ++reason) {
    const LeftOut& left = sum.left_out[reason];
    if (left.count == 0) continue;
    if (reason == kWithin && place.is_line) return make_error(ErrorKind::kInvalid, "{}: its debug information is not that of this program: no instruction of {} begins there", name, left.function);
    if (reason == kWithin) return make_error(ErrorKind::kInvalid, "{}: no instruction of {} begins {} bytes behind its begin", name, left.function, place.offset);
    return make_error(ErrorKind::kUnsupported, "{}: {} is a {} {}{}", name, left.function, place.is_usdt ? "probe" : "function", text_of(static_cast<Reason>(reason), left),
                      reason == kIndirect ? "; name the one that it runs" : reason == kChanged || reason == kGoArguments ? "; without arg0 and so on it can be probed" : "");
  }
  if (sum.error) return make_error(sum.error->kind(), "{}: {}", name, sum.error->message());
  if (sum.images == 0) {
    return make_error(ErrorKind::kNotFound, "{}: {} file called {}; one that is loaded later needs its path", name, whole_machine_ ? "no process maps a" : "what is recorded maps no",
                      place.image.empty() ? "anything" : place.image);
  }
  if (!sum.has_symbols && place.is_usdt) return make_error(ErrorKind::kNotFound, "{}: there are no USDT probes in {}", name, place.image.empty() ? "what is mapped" : place.image);
  if (!sum.has_symbols) {
    return make_error(ErrorKind::kNotFound, "{}: {} has no symbols: it was stripped, and a debug file for it is not installed", name, place.image.empty() ? "what is mapped" : place.image);
  }
  const std::string later = place.image.empty() && !whole_machine_ ? "; of a file that is loaded later by its path, as u:/opt/app:" + place.function : "";
  const std::string where = place.image.empty() ? fmt::format("the {} files that are mapped", sum.images) : place.image;
  const std::string near = sum.near.size() > kMostNames ? near_names(place.function, sum.near) : fmt::format("{}", fmt::join(sum.near, ", "));
  return make_error(ErrorKind::kNotFound, "{}: no {} {} in {}{}{}", name, place.is_usdt ? "USDT probe" : place.is_line ? "code of" : "function", place.function, where, near.empty() ? later : "; did you mean " + near + "?",
                    sum.is_cut_short ? "; not all symbols were looked at, there are too many" : "");
}

std::vector<std::string> FunctionFinder::warnings() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < events_.size(); ++i) {
    for (size_t reason = 0; reason < kReasons; ++reason) {
      const LeftOut& left = sums_[i].left_out[reason];
      if (left.count != 0) lines.push_back(fmt::format("{}: left out: {} {} {}, as {}", events_[i].name, left.count, events_[i].place.is_usdt ? "places" : "functions", text_of(static_cast<Reason>(reason), left), left.function));
    }
    if (const LeftOut& caught = sums_[i].by_kernel; caught.count != 0) {
      lines.push_back(fmt::format("{}: {} functions may end in another one, as {}: the kernel catches their returns, and a C++ exception or pthread_cancel through one would have ended the program", events_[i].name,
                                  caught.count, caught.function));
    }
    if (sums_[i].is_cut_short) lines.push_back(fmt::format("{}: some files have so many symbols that not all were looked at", events_[i].name));
    if (sums_[i].error && !events_[i].place.image.empty()) lines.push_back(fmt::format("{}: not in every file: {}", events_[i].name, sums_[i].error->message()));
  }
  return lines;
}

}  // namespace cicada::bpf_source
