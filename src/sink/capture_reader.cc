// SPDX-License-Identifier: Apache-2.0
// Nothing is believed: every count is bounded by the bytes that must follow it, every index by the rows read so far, and the
// memory of all chunks by the size of the file. Ids of the file are mapped, never assumed: a file may contain equal rows
// twice, our tables cannot.
#include "sink/capture_reader.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "sink/byte_writer.h"
#include "sink/capture_format.h"
#include "sink/packed_calls.h"
#include "sink/packed_names.h"
#include "sink/packed_samples.h"
#include "sink/packed_strings.h"

namespace cicada::sink {
namespace {

using namespace profile;

// Real files compress 3- to 30-fold. What decompresses to more than this is a bomb.
constexpr uint64_t kMaxExpansion = 256;
constexpr uint64_t kFreeExpansion = 64 << 20;

Error corrupt(std::string_view what) { return make_error(ErrorKind::kCorrupt, "malformed {}", what); }

class Reader {
 public:
  Reader(Bytes bytes, const std::string& name) : file_(bytes), name_(name) {}

  Result<Capture> read() {
    ByteCursor head(file_);
    const Bytes magic = head.take(kCaptureMagic.size());
    const uint32_t version = head.u32();
    if (head.failed() || !std::equal(magic.begin(), magic.end(), kCaptureMagic.begin(), [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); }))
      return make_error(ErrorKind::kInvalid, "{}: not a cicada recording", name_);
    if (version > kCaptureVersion)
      return make_error(ErrorKind::kUnsupported, "{}: recording format {}, this cicada reads up to {}; use a newer cicada", name_, version, kCaptureVersion);
    if (version == 0) return make_error(ErrorKind::kCorrupt, "{}: recording format 0 does not exist", name_);
    uint64_t position = head.position();
    std::string problem;
    while (position < file_.size() && !ended_) {
      const Result<uint64_t> next = read_chunk(position);
      if (!next) {
        problem = next.error().message();
        break;
      }
      position = *next;
      ++capture_.chunks;
    }
    finish(position, problem);
    return std::move(capture_);
  }

 private:
  Profile& profile() { return capture_.profile; }

  void finish(uint64_t position, const std::string& problem) {
    capture_.unread_bytes = file_.size() - position;
    capture_.complete = ended_ && capture_.unread_bytes == 0;
    auto& warnings = profile().header.warnings;
    if (!problem.empty())
      warnings.push_back(fmt::format("{}: damaged after {} good chunks ({}); the last {} bytes are not shown, {} samples are", name_,
                                     capture_.chunks, problem, capture_.unread_bytes, profile().sample_count()));
    else if (!ended_)
      warnings.push_back(fmt::format("{}: the recording was cut off; the last moments, counts of losses and names of functions may be missing", name_));
    else if (capture_.unread_bytes != 0)
      warnings.push_back(fmt::format("{}: {} bytes after the end of the recording ignored", name_, capture_.unread_bytes));
    if (!ended_) lengthen_to_last_sample();
    if (ended_ && declared_samples_ != profile().sample_count())
      warnings.push_back(fmt::format("{}: {} samples of {} are there", name_, profile().sample_count(), declared_samples_));
  }

  // The header of a recording that was cut off is from its first second.
  void lengthen_to_last_sample() {
    Header& header = profile().header;
    for (const uint64_t time_ns : profile().samples().time_ns)
      if (time_ns > header.start_monotonic_ns) header.duration_ns = std::max(header.duration_ns, time_ns - header.start_monotonic_ns);
  }

  uint64_t max_raw_bytes() const { return kFreeExpansion + kMaxExpansion * file_.size(); }

  // The position after the chunk at `position`.
  Result<uint64_t> read_chunk(uint64_t position) {
    ByteCursor cursor(file_, position);
    const uint32_t magic = cursor.u32(), stored = cursor.u32(), raw = cursor.u32(), sequence = cursor.u32(), crc = cursor.u32();
    const Bytes payload = cursor.take(stored);
    if (cursor.failed()) return make_error(ErrorKind::kCorrupt, "chunk cut off");
    if (magic != kChunkMagic) return make_error(ErrorKind::kCorrupt, "no chunk where one should be");
    uLong actual = ::crc32(0, file_.data() + position, kChunkHeaderBytes - 4);
    actual = ::crc32_z(actual, payload.data(), payload.size());
    if (actual != crc) return make_error(ErrorKind::kCorrupt, "checksum does not match");
    if (sequence != capture_.chunks) return make_error(ErrorKind::kCorrupt, "chunk {} follows chunk {}", sequence, capture_.chunks);
    raw_total_ += raw;
    if (raw > kMaxRawChunkBytes || raw_total_ > max_raw_bytes())
      return make_error(ErrorKind::kLimit, "chunk of {} bytes", raw);
    raw_.resize(raw);
    const size_t got = ZSTD_decompress(raw_.data(), raw, payload.data(), payload.size());
    if (ZSTD_isError(got) != 0 || got != raw) return make_error(ErrorKind::kCorrupt, "chunk does not decompress");
    TRY(read_sections());
    return cursor.position();
  }

  Result<void> read_sections() {
    ByteCursor cursor(Bytes(raw_.data(), raw_.size()));
    while (!cursor.at_end()) {
      const uint64_t kind = cursor.uleb128();
      ByteCursor section(cursor.take(cursor.uleb128()));
      if (cursor.failed()) return corrupt("section");
      TRY(read_section(kind, section));
    }
    return {};
  }

  Result<void> read_section(uint64_t kind, ByteCursor& in) {
    if (kind > static_cast<uint64_t>(Section::kPackedStrings)) return {};  // of a later minor version
    switch (static_cast<Section>(kind)) {
      case Section::kHeader: return read_header(in);
      case Section::kStrings: return read_strings(in);
      case Section::kImages: return read_images(in);
      case Section::kFunctions: return read_functions(in);
      case Section::kFrames: return read_frames(in);
      case Section::kStacks: return read_stacks(in);
      case Section::kProcesses: return read_processes(in);
      case Section::kThreads: return read_threads(in);
      case Section::kSamples: return read_samples(in);
      case Section::kLocations: return read_locations(in);
      case Section::kMoved: return read_moved(in);
      case Section::kPackedStrings: return read_packed_strings(in);
      case Section::kPackedCalls: return read_packed_calls(in);
      case Section::kPackedNames: return read_packed_names(in);
      case Section::kPackedSamples: return read_packed_samples(in);
      case Section::kEnd:
        ended_ = true;
        declared_samples_ = in.uleb128();
        return {};
    }
    return {};
  }

  // A count of rows that take at least `bytes_each` bytes.
  static Result<size_t> read_count(ByteCursor& in, uint64_t bytes_each, std::string_view what) {
    const uint64_t count = in.uleb128();
    if (in.failed() || count > in.remaining() / bytes_each) return corrupt(what);
    return static_cast<size_t>(count);
  }

  static std::string text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

  // The mapped id of "index plus one; 0 is none". Sets `bad` when there is no such row.
  template <typename Id>
  static Id optional_id(const std::vector<Id>& ids, uint64_t plus_one, bool& bad) {
    if (plus_one == 0) return {};
    if (plus_one > ids.size()) {
      bad = true;
      return {};
    }
    return ids[plus_one - 1];
  }
  StringId string_id(uint64_t plus_one, bool& bad) const { return optional_id(strings_, plus_one, bad); }

  Result<void> read_header(ByteCursor& in) {
    Header header;
    header.event.clear();
    while (!in.at_end()) {
      const uint64_t field = in.uleb128();
      const Bytes content = in.take(in.uleb128());
      if (in.failed()) return corrupt("header");
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
        case HeaderField::kEvent: header.event = text_of(content); break;
        case HeaderField::kPeriod: header.period = number.uleb128(); break;
        case HeaderField::kFrequencyHz: header.frequency_hz = number.uleb128(); break;
        case HeaderField::kStartRealtimeNs: header.start_realtime_ns = number.uleb128(); break;
        case HeaderField::kStartMonotonicNs: header.start_monotonic_ns = number.uleb128(); break;
        case HeaderField::kDurationNs: header.duration_ns = number.uleb128(); break;
        case HeaderField::kCpuCount: header.cpu_count = static_cast<uint32_t>(number.uleb128()); break;
        case HeaderField::kFired: header.fired = number.uleb128(); break;
        case HeaderField::kCount: header.counts.push_back(count()); break;
        case HeaderField::kEndReason: header.end_reasons.push_back(count()); break;
        case HeaderField::kWarning: header.warnings.push_back(text_of(content)); break;
      }
    }
    profile().header = std::move(header);
    return {};
  }

  Result<void> read_strings(ByteCursor& in) {
    const size_t count = TRY(read_count(in, 1, "strings"));
    std::vector<uint64_t> sizes(count);
    for (uint64_t& size : sizes) size = in.uleb128();
    strings_.reserve(strings_.size() + count);
    for (const uint64_t size : sizes) {
      const Bytes text = in.take(size);
      if (in.failed()) return corrupt("strings");
      strings_.push_back(profile().intern({reinterpret_cast<const char*>(text.data()), text.size()}));
    }
    return {};
  }

  Result<void> read_images(ByteCursor& in) {
    const size_t count = TRY(read_count(in, 3, "images"));
    bool bad = false;
    for (size_t i = 0; i < count && !bad; ++i) {
      Image image;
      image.path = string_id(in.uleb128(), bad);
      image.build_id = string_id(in.uleb128(), bad);
      const uint8_t kind = in.u8();
      if (kind > static_cast<uint8_t>(ImageKind::kJit)) bad = true;
      image.kind = bad ? ImageKind::kUnknown : static_cast<ImageKind>(kind);
      if (!bad) images_.push_back(profile().intern_image(image));
    }
    if (bad || in.failed()) return corrupt("images");
    return {};
  }

  Result<void> read_functions(ByteCursor& in) {
    const size_t count = TRY(read_count(in, 3, "functions"));
    bool bad = false;
    std::vector<Function> rows(count);
    for (auto& row : rows) row.name = string_id(in.uleb128(), bad);
    for (auto& row : rows) row.linkage_name = string_id(in.uleb128(), bad);
    for (auto& row : rows) row.image = optional_id(images_, in.uleb128(), bad);
    if (bad || in.failed()) return corrupt("functions");
    for (const auto& row : rows) functions_.push_back(profile().intern_function(row));
    return {};
  }

  Result<void> read_frames(ByteCursor& in) {
    const size_t count = TRY(read_count(in, 5, "frames"));
    bool bad = false;
    std::vector<Frame> rows(count);
    for (auto& row : rows) {
      const uint8_t kind = in.u8();
      if (kind > static_cast<uint8_t>(FrameKind::kLabel)) return corrupt("frames");
      row.kind = static_cast<FrameKind>(kind);
    }
    for (auto& row : rows) row.image = optional_id(images_, in.uleb128(), bad);
    for (auto& row : rows) row.address_space = static_cast<uint32_t>(in.uleb128());
    uint64_t last = 0;
    for (auto& row : rows) last = row.address = last + static_cast<uint64_t>(from_zigzag(in.uleb128()));
    for (auto& row : rows) row.label = string_id(in.uleb128(), bad);
    if (bad || in.failed()) return corrupt("frames");
    for (const auto& row : rows) frames_.push_back(profile().intern_frame(row));
    return {};
  }

  Result<void> read_stacks(ByteCursor& in) {
    const size_t count = TRY(read_count(in, 2, "stacks"));
    std::vector<uint64_t> up(count);
    for (uint64_t& distance : up) distance = in.uleb128();
    int64_t frame = 0;
    stacks_.reserve(stacks_.size() + count);
    for (const uint64_t distance : up) {
      frame = static_cast<int64_t>(static_cast<uint64_t>(frame) + static_cast<uint64_t>(from_zigzag(in.uleb128())));
      if (in.failed() || distance > stacks_.size() || frame < 0 || static_cast<uint64_t>(frame) >= frames_.size()) return corrupt("stacks");
      const StackId parent = distance == 0 ? StackId() : stacks_[stacks_.size() - distance];
      stacks_.push_back(profile().intern_stack(parent, frames_[static_cast<size_t>(frame)]));
    }
    return {};
  }

  Result<void> read_processes(ByteCursor& in) {
    while (!in.at_end()) {
      bool bad = false;
      const uint64_t index = in.uleb128();
      const auto pid = static_cast<Pid>(in.uleb128());
      const uint64_t start_ns = in.uleb128();
      const StringId name = string_id(in.uleb128(), bad), cmdline = string_id(in.uleb128(), bad), cgroup = string_id(in.uleb128(), bad);
      const auto parent = static_cast<Pid>(in.uleb128());
      if (bad || in.failed() || index > processes_.size()) return corrupt("processes");
      if (index == processes_.size()) processes_.push_back(profile().intern_process(pid, start_ns));
      Process& row = profile().process(processes_[index]);
      row.name = name;
      row.cmdline = cmdline;
      row.cgroup = cgroup;
      row.parent_pid = parent;
    }
    return {};
  }

  Result<void> read_threads(ByteCursor& in) {
    while (!in.at_end()) {
      bool bad = false;
      const uint64_t index = in.uleb128(), process = in.uleb128();
      const auto tid = static_cast<Tid>(in.uleb128());
      const uint64_t name_and_main = in.uleb128();
      const StringId name = string_id(name_and_main >> 1, bad);
      if (bad || in.failed() || index > threads_.size() || process >= processes_.size()) return corrupt("threads");
      if (index == threads_.size()) threads_.push_back(profile().intern_thread(processes_[process], tid));
      profile().thread(threads_[index]).name = name;
      profile().thread(threads_[index]).main = (name_and_main & 1) != 0;
    }
    return {};
  }

  Result<void> read_samples(ByteCursor& in) {
    const size_t count = TRY(read_count(in, 7, "samples"));
    if (count + profile().sample_count() >= 0xffffffff) return corrupt("samples");
    SampleColumns& block = block_;
    resize_block(count);
    for (uint16_t& cpu : block.cpu) cpu = static_cast<uint16_t>(in.uleb128());
    const uint64_t tick = in.uleb128();
    last_of_cpu_.assign(size_t{1} << 16, 0);
    uint64_t any = 0;
    for (size_t i = 0; i < count; ++i) {
      uint64_t& before = last_of_cpu_[block.cpu[i]];
      const uint64_t expected = before != 0 ? before + tick : any;
      before = any = block.time_ns[i] = expected + static_cast<uint64_t>(from_zigzag(in.uleb128()));
    }
    for (ThreadId& id : block.thread) {
      const uint64_t thread = in.uleb128();
      if (thread >= threads_.size()) return corrupt("samples");
      id = threads_[thread];
    }
    bool bad = false;
    for (StackId& id : block.stack) id = optional_id(stacks_, in.uleb128(), bad);
    for (uint32_t& value : block.value) value = static_cast<uint32_t>(in.uleb128());
    const Bytes kinds = in.take(count), flags = in.take(count);
    if (bad || in.failed()) return corrupt("samples");
    for (size_t i = 0; i < count; ++i) {
      if (kinds[i] > static_cast<uint8_t>(SampleKind::kEvent)) return corrupt("samples");
      block.kind[i] = static_cast<SampleKind>(kinds[i]);
    }
    block.flags.assign(flags.begin(), flags.end());
    profile().append_samples(block);
    return {};
  }

  Result<void> read_moved(ByteCursor& in) {
    uint64_t sample = 0;
    while (!in.at_end()) {
      bool bad = false;
      sample += in.uleb128();
      const StackId stack = optional_id(stacks_, in.uleb128(), bad);
      if (bad || in.failed() || sample >= profile().sample_count()) return corrupt("moved samples");
      profile().set_stack(static_cast<size_t>(sample), stack);
    }
    return {};
  }

  Result<void> read_locations(ByteCursor& in) {
    uint64_t frame = 0;
    std::vector<Location> locations;
    while (!in.at_end()) {
      frame += in.uleb128();
      const size_t count = TRY(read_count(in, 4, "locations"));
      if (frame >= frames_.size()) return corrupt("locations");
      bool bad = false;
      locations.assign(count, {});
      for (Location& location : locations) {
        const uint64_t function = in.uleb128();
        location.file = string_id(in.uleb128(), bad);
        location.line = static_cast<uint32_t>(in.uleb128());
        const uint8_t source = in.u8();
        if (bad || in.failed() || function >= functions_.size()) return corrupt("locations");
        location.function = functions_[function];
        location.source = source >> 1 <= static_cast<uint8_t>(NameSource::kCallFrame) ? static_cast<NameSource>(source >> 1) : NameSource::kNone;
        location.inlined = (source & 1) != 0;
      }
      profile().set_locations(frames_[frame], locations);
    }
    return {};
  }

  // A count of rows of a packed section, which may take less than a byte each.
  Result<size_t> read_packed_count(ByteCursor& in) {
    const uint64_t count = in.uleb128();
    if (in.failed() || count > kMaxPackedRowsPerByte * file_.size()) return corrupt("packed section");
    packed_rows_ += count;
    if (packed_rows_ > kMaxPackedRowsPerByte * file_.size()) return corrupt("packed section");
    return static_cast<size_t>(count);
  }

  Result<void> read_packed_strings(ByteCursor& in) {
    std::vector<PackedString> strings(TRY(read_packed_count(in)));
    const uint64_t bytes = in.uleb128();
    if (in.failed() || bytes > kMaxPackedTextPerByte * in.remaining()) return corrupt("packed strings");
    Decoder decoder(in.take(in.remaining()));
    if (!code_strings(decoder, strings, bytes)) return corrupt("packed strings");
    strings_.reserve(strings_.size() + strings.size());
    for (PackedString& string : strings) {
      if (string.linkage_name != PackedString::kItself) {
        const PackedString& from = strings[string.linkage_name];
        if (from.linkage_name != PackedString::kItself) return corrupt("packed strings");
        string.text = shown_name(from.text);
        raw_total_ += string.text.size() + from.text.size();
        if (raw_total_ > max_raw_bytes()) return corrupt("packed strings");
      }
      strings_.push_back(profile().intern(string.text));
    }
    return {};
  }

  Result<void> read_packed_calls(ByteCursor& in) {
    const size_t frames = TRY(read_packed_count(in)), stacks = TRY(read_packed_count(in));
    if (!frames_.empty() || !stacks_.empty()) return corrupt("packed calls");
    packed_frames_.resize(frames);
    std::vector<PackedStack> rows(stacks);
    Decoder decoder(in.take(in.remaining()));
    if (!CallCoder(decoder, packed_frames_, rows).code()) return corrupt("packed calls");
    bool bad = false;
    for (const Frame& row : packed_frames_) {
      Frame frame = row;
      frame.image = optional_id(images_, row.image.value + 1U, bad);
      frame.label = string_id(row.label.value + 1U, bad);
      if (bad) return corrupt("packed calls");
      frames_.push_back(profile().intern_frame(frame));
    }
    stacks_.reserve(stacks);
    for (const PackedStack& row : rows)
      stacks_.push_back(profile().intern_stack(row.parent == PackedStack::kRoot ? StackId() : stacks_[row.parent], frames_[row.frame]));
    chain_ends_ = chain_ends(rows);
    return {};
  }

  Result<void> read_packed_names(ByteCursor& in) {
    const size_t functions = TRY(read_packed_count(in));
    if (!functions_.empty() || packed_frames_.size() != frames_.size()) return corrupt("packed names");
    Decoder decoder(in.take(in.remaining()));
    FunctionCoder coder(decoder);
    bool bad = false;
    for (size_t i = 0; i < functions; ++i) {
      Function row;
      coder.code(row);
      row.name = string_id(row.name.value + 1U, bad);
      row.linkage_name = string_id(row.linkage_name.value + 1U, bad);
      row.image = optional_id(images_, row.image.value + 1U, bad);
      if (bad || decoder.failed()) return corrupt("packed names");
      functions_.push_back(profile().intern_function(row));
    }
    LocationCoder location_coder(decoder, functions);
    std::vector<Location> locations, mapped;
    for (const uint32_t frame : by_address(packed_frames_)) {
      if (!location_coder.code(locations)) return corrupt("packed names");
      packed_rows_ += locations.size();
      if (packed_rows_ > kMaxPackedRowsPerByte * file_.size()) return corrupt("packed names");
      mapped = locations;
      for (Location& location : mapped) {
        location.function = functions_[location.function.value];
        location.file = string_id(location.file.value + 1U, bad);
      }
      if (bad) return corrupt("packed names");
      if (!mapped.empty()) profile().set_locations(frames_[frame], mapped);
    }
    return {};
  }

  Result<void> read_packed_samples(ByteCursor& in) {
    const size_t count = TRY(read_packed_count(in));
    if (chain_ends_.size() != stacks_.size() || count + profile().sample_count() >= 0xffffffff) return corrupt("packed samples");
    resize_block(count);
    Decoder decoder(in.take(in.remaining()));
    if (!SampleCoder(decoder, chain_ends_, threads_.size()).code(block_, 0, 0)) return corrupt("packed samples");
    for (ThreadId& id : block_.thread) id = threads_[id.value];
    for (StackId& id : block_.stack) id = id.valid() ? stacks_[id.value] : StackId();
    profile().append_samples(block_);
    return {};
  }

  void resize_block(size_t count) {
    block_.cpu.resize(count);
    block_.time_ns.resize(count);
    block_.thread.resize(count);
    block_.stack.resize(count);
    block_.value.resize(count);
    block_.kind.resize(count);
    block_.flags.resize(count);
  }

  Bytes file_;
  const std::string& name_;
  Capture capture_;
  bool ended_ = false;
  uint64_t declared_samples_ = 0;
  uint64_t raw_total_ = 0;
  std::vector<uint8_t> raw_;
  std::vector<uint64_t> last_of_cpu_;
  SampleColumns block_;  // of one section, kept for its memory
  // id in the file -> id here
  std::vector<StringId> strings_;
  std::vector<ImageId> images_;
  std::vector<FunctionId> functions_;
  std::vector<FrameId> frames_;
  std::vector<StackId> stacks_;
  std::vector<ProcessId> processes_;
  std::vector<ThreadId> threads_;
  // of the packed sections, as in the file
  uint64_t packed_rows_ = 0;
  std::vector<Frame> packed_frames_;
  std::vector<uint32_t> chain_ends_;
};

}  // namespace

Result<Capture> read_capture(Bytes bytes, const std::string& name) { return Reader(bytes, name).read(); }

}  // namespace cicada::sink
