// SPDX-License-Identifier: Apache-2.0
// The small tables of a difference: header, images, functions, processes, threads, label sets. Each for both directions (column_io.h);
// `limits`: how many rows of the other tables there are.
#pragma once
#include "profile/snapshot.h"
#include "sink/recording/column_io.h"

namespace cicada::sink {

inline constexpr size_t kMaxEvents = 256;

// One column: a member of each row.
template <typename Io, typename Row, typename Id>
void code_ids(Io& io, std::vector<Row>& rows, Id Row::*member, size_t limit) {
  for (Row& row : rows) row.*member = io.id(row.*member, limit);
  io.end_column();
}
template <typename Io, typename Row, typename Number>
void code_numbers(Io& io, std::vector<Row>& rows, Number Row::*member) {
  for (Row& row : rows) row.*member = static_cast<Number>(io.number(static_cast<uint64_t>(row.*member)));
  io.end_column();
}
template <typename Io, typename Row, typename Enum>
void code_enums(Io& io, std::vector<Row>& rows, Enum Row::*member, Enum last) {
  for (Row& row : rows) {
    const uint8_t value = io.byte(static_cast<uint8_t>(row.*member));
    if (value > static_cast<uint8_t>(last)) return io.fail();
    row.*member = static_cast<Enum>(value);
  }
  io.end_column();
}

template <typename Io>
void code_counts(Io& io, std::vector<profile::Count>& counts) {
  counts.resize(io.count(counts.size(), sizeof(profile::Count)));
  for (profile::Count& count : counts) {
    io.text(count.name);
    count.value = io.number(count.value);
    count.outcome = io.byte(count.outcome ? 1 : 0) != 0;
  }
}

template <typename Io>
void code_texts(Io& io, std::vector<std::string>& texts) {
  texts.resize(io.count(texts.size(), sizeof(std::string)));
  for (std::string& text : texts) io.text(text);
}

template <typename Io>
void code_header(Io& io, profile::Header& header) {
  for (std::string* text : {&header.host, &header.kernel, &header.architecture, &header.cicada_version, &header.boot_id}) io.text(*text);
  for (uint64_t* number : {&header.start_realtime_ns, &header.start_monotonic_ns, &header.duration_ns, &header.target_cpu_ns, &header.runs, &header.runs_ns}) *number = io.number(*number);
  header.cpu_count = static_cast<uint32_t>(io.number(header.cpu_count));
  code_texts(io, header.command);
  code_texts(io, header.warnings);
  code_counts(io, header.end_reasons);
  header.events.resize(io.count(header.events.size(), sizeof(profile::Event)));
  for (profile::Event& event : header.events) {
    io.text(event.name);
    for (uint64_t* number : {&event.value, &event.period, &event.frequency_hz, &event.sample_ns, &event.fired}) *number = io.number(*number);
    code_counts(io, event.counts);
  }
  code_enums(io, header.events, &profile::Event::unit, profile::Unit::kEvents);
  code_enums(io, header.events, &profile::Event::spent, profile::Spent::kOthersWaiting);
  if (header.events.empty() || header.events.size() > kMaxEvents) io.fail();
  io.end_column();
}

template <typename Io>
void code_images(Io& io, std::vector<profile::Image>& rows, const profile::SnapshotSizes& limits) {
  code_ids(io, rows, &profile::Image::path, limits.strings);
  code_ids(io, rows, &profile::Image::build_id, limits.strings);
  code_enums(io, rows, &profile::Image::kind, profile::ImageKind::kJit);
}

// Functions were added as their names were: name and linkage name are mostly new strings, one after the other. `next`: the first new string.
template <typename Io>
void code_functions(Io& io, std::vector<profile::Function>& rows, uint64_t next, const profile::SnapshotSizes& limits) {
  const auto code = [&](profile::StringId& id) {
    const uint64_t plus_one = io.near(next + 1, id.valid() ? uint64_t{id.value} + 1 : 0);
    if (plus_one > limits.strings) return io.fail();
    id = plus_one == 0 ? profile::StringId() : profile::StringId(plus_one - 1);
    next = std::max(next, plus_one);
  };
  for (profile::Function& row : rows) {
    code(row.name);
    code(row.linkage_name);
  }
  io.end_column();
  code_ids(io, rows, &profile::Function::image, limits.images);
}

template <typename Io>
void code_processes(Io& io, std::vector<profile::Process>& rows, const profile::SnapshotSizes& limits) {
  code_numbers(io, rows, &profile::Process::pid);
  uint64_t last = 0;
  for (profile::Process& row : rows) last = row.start_ns = io.near(last, row.start_ns);
  io.end_column();
  code_numbers(io, rows, &profile::Process::parent_pid);
  code_ids(io, rows, &profile::Process::name, limits.strings);
  code_ids(io, rows, &profile::Process::cmdline, limits.strings);
  code_ids(io, rows, &profile::Process::cgroup, limits.strings);
}

template <typename Io>
void code_threads(Io& io, std::vector<profile::Thread>& rows, const profile::SnapshotSizes& limits) {
  code_ids(io, rows, &profile::Thread::process, limits.processes);
  for (const profile::Thread& row : rows)
    if (!row.process.valid()) io.fail();
  uint64_t last = 0;
  for (profile::Thread& row : rows) {
    last = io.near(last, static_cast<uint64_t>(row.tid));
    row.tid = static_cast<Tid>(last);
  }
  io.end_column();
  code_ids(io, rows, &profile::Thread::name, limits.strings);
  for (profile::Thread& row : rows) row.main = io.byte(row.main ? 1 : 0) != 0;
  io.end_column();
}

// Of the rows of code_threads(), behind the samples.
template <typename Io>
void code_thread_times(Io& io, std::vector<profile::Thread>& rows) {
  for (profile::Thread& row : rows) {
    const uint64_t plus_one = io.number(row.cpu_ns ? *row.cpu_ns + 1 : 0);
    row.cpu_ns = plus_one == 0 ? std::nullopt : std::optional(plus_one - 1);
  }
  io.end_column();
}

template <typename Io>
void code_label_set(Io& io, std::vector<profile::Label>& labels, const profile::SnapshotSizes& limits) {
  labels.resize(io.count(labels.size(), sizeof(profile::Label)));
  for (profile::Label& label : labels) {
    label.key = io.id(label.key, limits.strings);
    label.value = io.id(label.value, limits.strings);
  }
}

}  // namespace cicada::sink
