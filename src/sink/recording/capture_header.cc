// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/capture_header.h"

#include "sink/recording/capture_format.h"

namespace cicada::sink {
namespace {

using profile::Header;

void append_header_text(ByteWriter& out, HeaderField field, std::string_view text) {
  if (text.empty()) return;
  out.uleb128(static_cast<uint64_t>(field));
  out.text(text);
}

void append_header_number(ByteWriter& out, HeaderField field, uint64_t value) {
  if (value == 0) return;
  ByteWriter number;
  number.uleb128(value);
  append_header_text(out, field, number.bytes());
}

void append_count(ByteWriter& out, HeaderField field, const profile::Count& count) {
  ByteWriter content;
  content.uleb128(count.value);
  content.u8(count.outcome ? 1 : 0);
  content.append(count.name);
  append_header_text(out, field, content.bytes());
}

void append_event(ByteWriter& out, const profile::Event& event) {
  ByteWriter content;
  content.text(event.name);
  content.u8(static_cast<uint8_t>(event.unit));
  for (const uint64_t number : {event.value, event.period, event.frequency_hz, event.sample_ns, event.fired}) content.uleb128(number);
  for (const profile::Count& count : event.counts) {
    content.uleb128(count.value);
    content.u8(count.outcome ? 1 : 0);
    content.text(count.name);
  }
  out.uleb128(static_cast<uint64_t>(HeaderField::kEvent));
  out.text(content.bytes());
}

std::string text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

Result<profile::Event> parse_event(Bytes content) {
  ByteCursor in(content);
  profile::Event event;
  event.name = text_of(in.take(in.uleb128()));
  const uint8_t unit = in.u8();
  for (uint64_t* number : {&event.value, &event.period, &event.frequency_hz, &event.sample_ns, &event.fired}) *number = in.uleb128();
  while (!in.at_end() && !in.failed()) {
    profile::Count count;
    count.value = in.uleb128();
    count.outcome = in.u8() != 0;
    count.name = text_of(in.take(in.uleb128()));
    event.counts.push_back(std::move(count));
  }
  if (in.failed() || unit > static_cast<uint8_t>(profile::Unit::kCalls)) return make_error(ErrorKind::kCorrupt, "malformed event");
  event.unit = static_cast<profile::Unit>(unit);
  return event;
}

}  // namespace

void append_header(ByteWriter& out, const profile::Header& header) {
  append_header_text(out, HeaderField::kHost, header.host);
  append_header_text(out, HeaderField::kKernel, header.kernel);
  append_header_text(out, HeaderField::kArchitecture, header.architecture);
  append_header_text(out, HeaderField::kCicadaVersion, header.cicada_version);
  append_header_text(out, HeaderField::kBootId, header.boot_id);
  for (const std::string& word : header.command) {  // empty words too: the order is the command line
    out.uleb128(static_cast<uint64_t>(HeaderField::kCommandWord));
    out.text(word);
  }
  append_header_number(out, HeaderField::kStartRealtimeNs, header.start_realtime_ns);
  append_header_number(out, HeaderField::kStartMonotonicNs, header.start_monotonic_ns);
  append_header_number(out, HeaderField::kDurationNs, header.duration_ns);
  append_header_number(out, HeaderField::kCpuCount, header.cpu_count);
  for (const profile::Event& event : header.events) append_event(out, event);
  for (const profile::Count& count : header.end_reasons) append_count(out, HeaderField::kEndReason, count);
  for (const std::string& warning : header.warnings) append_header_text(out, HeaderField::kWarning, warning);
}

Result<Header> parse_header(ByteCursor& in) {
  Header header;
  header.events.clear();
  while (!in.at_end()) {
    const uint64_t field = in.uleb128();
    const Bytes content = in.take(in.uleb128());
    if (in.failed()) return make_error(ErrorKind::kCorrupt, "malformed header");
    ByteCursor number(content);
    const auto count = [&] {
      ByteCursor c(content);
      profile::Count result;
      result.value = c.uleb128();
      result.outcome = c.u8() != 0;
      result.name = text_of(c.take(c.remaining()));
      return result;
    };
    if (field > static_cast<uint64_t>(HeaderField::kWarning)) continue;
    switch (static_cast<HeaderField>(field)) {
      case HeaderField::kHost: header.host = text_of(content); break;
      case HeaderField::kKernel: header.kernel = text_of(content); break;
      case HeaderField::kArchitecture: header.architecture = text_of(content); break;
      case HeaderField::kCicadaVersion: header.cicada_version = text_of(content); break;
      case HeaderField::kBootId: header.boot_id = text_of(content); break;
      case HeaderField::kCommandWord: header.command.push_back(text_of(content)); break;
      case HeaderField::kEvent: header.events.push_back(TRY(parse_event(content))); break;
      case HeaderField::kStartRealtimeNs: header.start_realtime_ns = number.uleb128(); break;
      case HeaderField::kStartMonotonicNs: header.start_monotonic_ns = number.uleb128(); break;
      case HeaderField::kDurationNs: header.duration_ns = number.uleb128(); break;
      case HeaderField::kCpuCount: header.cpu_count = static_cast<uint32_t>(number.uleb128()); break;
      case HeaderField::kEndReason: header.end_reasons.push_back(count()); break;
      case HeaderField::kWarning: header.warnings.push_back(text_of(content)); break;
    }
  }
  if (header.events.empty() || header.events.size() > 255) return make_error(ErrorKind::kCorrupt, "a header with {} events", header.events.size());
  return header;
}

}  // namespace cicada::sink
