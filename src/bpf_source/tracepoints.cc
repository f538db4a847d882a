// SPDX-License-Identifier: Apache-2.0
#include "bpf_source/tracepoints.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <tuple>

#include <fmt/ranges.h>

#include "base/near_names.h"
#include "bpf_source/field_name.h"

namespace cicada::bpf_source {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

constexpr size_t kMostOfAFormat = 64 << 10;
constexpr unsigned kBytesOfPointer = 8;  // the kernel's own, where the record begins: what others find there is not ours to read
constexpr std::string_view kSystemCalls = "syscalls:";

// A line of `format`: "	field:unsigned int fd;	offset:16;	size:8;	signed:0;".
struct DescribedField {
  std::string_view type, name;
  bool is_number = false;
  event_field field = {};
  text_place text = TEXT_NONE;
  event_field of_text = {};  // as the text's place wants it
};

// What follows `key` up to the next ";".
std::string_view part_of(std::string_view line, std::string_view key) {
  const size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + key.size());
  return rest.substr(0, rest.find(';'));
}

unsigned number_in(std::string_view text) {
  unsigned number = ~0U;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// `char name[16]`, `__data_loc char[] name`, `__rel_loc char[] name`, or an address, `const char * name`.
void describe_text(DescribedField& found, bool is_array, unsigned bytes) {
  found.of_text.offset = found.field.offset;
  found.of_text.bytes = 4;
  const auto is = [&](std::string_view begin) { return found.type.starts_with(begin); };
  if (is("__data_loc char[]")) {
    found.text = TEXT_LOCATED;
  } else if (is("__rel_loc char[]")) {
    found.text = TEXT_LOCATED;
    found.of_text.number = found.field.offset + 4;
  } else if (is_array && is("char ")) {
    found.text = TEXT_IN_RECORD;
    found.of_text.bytes = 1;
    found.of_text.number = bytes;
  } else if (bytes == kBytesOfPointer && std::count(found.type.begin(), found.type.end(), '*') == 1 && (found.type.find("char ") != std::string_view::npos || found.type.find("void ") != std::string_view::npos)) {
    found.text = TEXT_OF_KERNEL;
    found.of_text.bytes = kBytesOfPointer;
  }
}

// Nothing: no such line, or one of what is overwritten.
std::optional<DescribedField> describe(std::string_view line) {
  const std::string_view declared = part_of(line, "\tfield:");
  const unsigned offset = number_in(part_of(line, "offset:")), bytes = number_in(part_of(line, "size:"));
  const size_t name_begin = declared.find_last_of(" *") + 1;
  if (declared.empty() || offset < kBytesOfPointer || offset > 0xffff) return std::nullopt;
  DescribedField found{.type = declared.substr(0, name_begin), .name = declared.substr(name_begin)};
  const bool is_list = declared.find('[') != std::string_view::npos || declared.starts_with("__data_loc") || declared.starts_with("__rel_loc");
  found.name = found.name.substr(0, found.name.find('['));
  found.is_number = !is_list && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
  found.field.offset = static_cast<uint16_t>(offset);
  found.field.bytes = static_cast<uint8_t>(bytes);
  found.field.is_signed = part_of(line, "signed:") == "1" ? 1 : 0;
  describe_text(found, declared.ends_with(']'), bytes);
  // An argument of a system call has a whole register, of which a smaller type is the low part; what is in the other one is undefined.
  constexpr std::tuple<std::string_view, uint8_t, bool> kSmall[] = {{"int ", 4, true}, {"pid_t ", 4, true}, {"unsigned int ", 4, false}, {"uid_t ", 4, false}, {"gid_t ", 4, false}, {"u32 ", 4, false}, {"__u32 ", 4, false}, {"umode_t ", 2, false}};
  for (const auto& [type, small, is_signed] : kSmall) {
    if (found.type != type || bytes <= small) continue;
    found.field.bytes = small;
    found.field.is_signed = is_signed ? 1 : 0;
  }
  return found;
}

std::vector<DescribedField> describe_all(std::string_view format) {
  std::vector<DescribedField> fields;
  while (!format.empty()) {
    const std::string_view line = format.substr(0, format.find('\n'));
    format.remove_prefix(std::min(line.size() + 1, format.size()));
    if (const std::optional<DescribedField> field = describe(line)) fields.push_back(*field);
  }
  return fields;
}

// As mount(2) would, but it is nowhere: it ends with the descriptor.
UniqueFd mount_tracefs() {
  const UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC)));
  if (!context || ::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return UniqueFd();
  return UniqueFd(static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
}

}  // namespace

Result<Tracepoints> Tracepoints::open() {
  int error = 0;
  for (const char* place : {"/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"}) {
    UniqueFd events(::open(place, kDirectory));
    if (events) return Tracepoints(std::move(events));
    if (errno != ENOENT) error = errno;
  }
  const UniqueFd root = mount_tracefs();
  if (!root && error == 0) error = errno;
  UniqueFd events(root ? ::openat(root.get(), "events", kDirectory) : -1);
  if (events) return Tracepoints(std::move(events));
  if (error == EACCES || error == EPERM)
    return make_error(ErrorKind::kPermission, "tracepoints: not permitted to read which there are; {}", kTracefsRemedy);
  return make_error(ErrorKind::kUnsupported, "tracepoints: this kernel has no file system tracefs (CONFIG_FTRACE), which names them");
}

Result<uint64_t> Tracepoints::id(std::string_view name) const {
  const std::string category(name.substr(0, name.find(':'))), own(name.substr(std::min(category.size() + 1, name.size())));
  const UniqueFd file(::openat(events_.get(), (category + "/" + own + "/id").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno != ENOENT && errno != ENOTDIR) return errno_error(errno, fmt::format("{}: read its number in tracefs", name));
  std::array<char, 24> text{};
  const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : -1;
  uint64_t id = 0;
  if (got > 0 && std::from_chars(text.data(), text.data() + got, id).ec == std::errc{}) return id;
  const std::vector<std::string> others = list(category);
  const std::string near = others.empty() ? near_names(category, list(".")) : near_names(own, others);
  return make_error(ErrorKind::kNotFound, "{}: this kernel has no {}{}", name, others.empty() ? fmt::format("category {} of tracepoints", category) : fmt::format("tracepoint {} in {}", own, category),
                    near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

std::string Tracepoints::format_of(std::string_view name) const {
  std::string path(name);
  std::replace(path.begin(), path.end(), ':', '/');
  const UniqueFd file(::openat(events_.get(), (path + "/format").c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(kMostOfAFormat, '\0');
  size_t size = 0;
  for (ssize_t got = 0; file && size < text.size() && (got = ::read(file.get(), text.data() + size, text.size() - size)) > 0;) size += static_cast<size_t>(got);
  text.resize(size);
  return text;
}

std::vector<std::string> Tracepoints::names() const {
  std::vector<std::string> all;
  for (const std::string& category : list("."))
    for (const std::string& name : list(category)) all.push_back(category + ":" + name);
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::string> Tracepoints::fields(std::string_view name) const {
  const std::string text = format_of(name);
  std::vector<std::string> names;
  for (const DescribedField& found : describe_all(text))
    if (found.is_number) names.emplace_back(found.name);
  return names;
}

Result<event_field> Tracepoints::field(std::string_view name, std::string_view asked) const {
  const FieldName wanted = parse_field_name(asked).value_or(FieldName{std::string(asked)});
  const std::string_view field = wanted.name;
  const std::string text = format_of(name);
  std::vector<std::string> names;
  for (const DescribedField& found : describe_all(text)) {
    if (found.name != field) {
      if (found.is_number) names.emplace_back(found.name);
      continue;
    }
    if (!found.is_number) return make_error(ErrorKind::kUnsupported, "{}: {} is no number ({})", name, field, found.type.substr(0, found.type.find_last_not_of(' ') + 1));
    const std::optional<event_field> low = low_part(found.field, wanted);
    if (!low) return make_error(ErrorKind::kUnsupported, "{}: {}: {} has {} bytes", name, asked, field, found.field.bytes);
    return *low;
  }
  const std::string near = near_names(field, names);
  return make_error(ErrorKind::kNotFound, "{}: it hands over no {}; {}", name, field, !near.empty() ? fmt::format("did you mean {}?", near) : names.empty() ? "it hands over no numbers" : fmt::format("there are {}", fmt::join(names, ", ")));
}

Result<void> Tracepoints::group_by_text(std::string_view name, std::string_view asked, event_fields& fields) const {
  const bool is_system_call = name.starts_with(kSystemCalls);
  const std::string text = format_of(name);
  std::vector<std::string> names;
  for (const DescribedField& found : describe_all(text)) {
    // Programs are handed a system call's arguments only, not what else newer kernels have in this record.
    const bool is_text = found.text != TEXT_NONE && (!is_system_call || found.text == TEXT_OF_KERNEL);
    if (found.name == asked && is_text) {
      fields.group = found.of_text;
      fields.group_text = is_system_call ? TEXT_OF_USER : found.text;
      return {};
    }
    if (found.name == asked) return make_error(ErrorKind::kUnsupported, "{}: {} is no text, nor the address of one ({})", name, asked, found.type.substr(0, found.type.find_last_not_of(' ') + 1));
    if (is_text) names.emplace_back(found.name);
  }
  const std::string near = near_names(asked, names);
  return make_error(ErrorKind::kNotFound, "{}: it hands over no {}; {}", name, asked, !near.empty() ? fmt::format("did you mean {}?", near) : names.empty() ? "it hands over no texts" : fmt::format("of texts there are {}", fmt::join(names, ", ")));
}

bool Tracepoints::is_no_category(const std::string& category) const { return list(category).empty() && near_names(category, list(".")).empty(); }

std::vector<std::string> Tracepoints::list(const std::string& directory) const {
  std::vector<std::string> names;
  UniqueFd fd(::openat(events_.get(), directory.c_str(), kDirectory));
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(fd ? ::fdopendir(fd.get()) : nullptr, &::closedir);
  if (!opened) return names;
  fd.release();  // it is the directory's now
  while (const dirent* entry = ::readdir(opened.get()))
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  return names;
}

Result<void> find_tracepoints(std::span<EventSpec> events) {
  std::optional<Tracepoints> known;
  for (EventSpec& event : events) {
    if (event.type.kind != EventKind::kTracepoint || event.type.config != 0) continue;
    if (!known) known.emplace(TRY(Tracepoints::open()));
    const Result<uint64_t> id = known->id(event.type.name);
    if (!id && id.error().kind() == ErrorKind::kNotFound && !event.maybe_function.empty() && known->is_no_category(event.type.name.substr(0, event.type.name.find(':')))) {
      event = TRY(parse_event_specs("u:" + event.maybe_function)).front();
      continue;
    }
    if (!id && !event.maybe_function.empty()) return make_error(id.error().kind(), "{} (of a function: u:{})", id.error().message(), event.type.name);
    if (!id) return id.error();
    if (event.times_calls) return make_error(ErrorKind::kInvalid, "{}: a tracepoint does not return; return is for functions", event.type.name);
    event.fields = {};
    if (event.group_is_text) TRY(known->group_by_text(event.type.name, event.group, event.fields));
    else if (!event.group.empty()) event.fields.group = TRY(known->field(event.type.name, event.group));
    if (!event.value.empty()) event.fields.value = TRY(known->field(event.type.name, event.value));
    for (const FieldComparison& one : event.filters) event.fields.filter[event.fields.filters++] = {TRY(known->field(event.type.name, one.field)), one.is, 0, one.number};
    // A thread asks for these: nothing is locked there.
    event.fields.has_time = event.type.name.starts_with(kSystemCalls) || event.type.name.starts_with("raw_syscalls:");
    event.type.config = *id;
  }
  return {};
}

}  // namespace cicada::bpf_source
