// SPDX-License-Identifier: Apache-2.0
// Columns, not rows: zstd finds little in interleaved numbers and almost everything in a column of equal ones. Times are
// predicted per CPU, because a sampling timer ticks per CPU: what is left is jitter of some microseconds (two bytes), not the
// distance between samples of different CPUs (four bytes).
#include "sink/capture_writer.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>

#include "sink/byte_writer.h"
#include "sink/capture_format.h"
#include "sink/packed_calls.h"
#include "sink/packed_names.h"
#include "sink/packed_samples.h"
#include "sink/packed_strings.h"

namespace cicada::sink {
namespace {

using profile::Profile;

constexpr size_t kSamplesPerSection = 1 << 20;
constexpr size_t kSamplesPerChunk = 1 << 14;  // zstd learns little from more, and a damaged chunk takes no more with it
// finish() writes a recording of up to so many samples anew, in one piece: chunks of a second hold too little for zstd to learn
// from. A minute at 99 Hz on one busy CPU: 8.7 bytes a sample in 60 chunks, 7.1 in one. Costs 0.1 s at most.
constexpr size_t kMaxRewritten = 1 << 20;
constexpr size_t kStep = 1 << 18;  // rows of a table in a section
// Of samples, frames and stacks together: packing takes 2 us each, and reading it again 2 us, half a second at most; plain columns take 0.1.
constexpr size_t kMaxPacked = 1 << 18;
constexpr size_t kMaxPackedText = 1 << 20;  // 0.65 us a byte, when writing and when reading
constexpr size_t kSoftChunkBytes = 8 << 20;  // sections are cut so that a chunk stays far below kMaxRawChunkBytes

template <typename Id>
uint64_t plus_one(Id id) {
  return id.valid() ? uint64_t{id.value} + 1 : 0;
}

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
  append_header_text(out, HeaderField::kEvent, header.event);
  append_header_number(out, HeaderField::kPeriod, header.period);
  append_header_number(out, HeaderField::kFrequencyHz, header.frequency_hz);
  append_header_number(out, HeaderField::kStartRealtimeNs, header.start_realtime_ns);
  append_header_number(out, HeaderField::kStartMonotonicNs, header.start_monotonic_ns);
  append_header_number(out, HeaderField::kDurationNs, header.duration_ns);
  append_header_number(out, HeaderField::kCpuCount, header.cpu_count);
  append_header_number(out, HeaderField::kFired, header.fired);
  for (const profile::Count& count : header.counts) append_count(out, HeaderField::kCount, count);
  for (const profile::Count& count : header.end_reasons) append_count(out, HeaderField::kEndReason, count);
  for (const std::string& warning : header.warnings) append_header_text(out, HeaderField::kWarning, warning);
}

class CaptureSink : public profile::Sink {
 public:
  CaptureSink(std::string path, std::optional<FileOwner> owner) : path_(std::move(path)), owner_(owner) {}

  Result<void> update(const Profile& profile) override {
    TRY(open());
    if (!header_written_) TRY(append_section(Section::kHeader, [&](ByteWriter& out) { append_header(out, profile.header); }));
    header_written_ = true;
    TRY(append_growth(profile));
    TRY(append_locations(profile, true));
    stacks_of_samples_.insert(stacks_of_samples_.end(), profile.samples().stack.begin() + static_cast<ptrdiff_t>(stacks_of_samples_.size()),
                              profile.samples().stack.end());
    TRY(write_chunk());
    return file_->publish();
  }

  Result<void> finish(const Profile& profile) override {
    if (sequence_ > 1 && profile.sample_count() <= kMaxRewritten && file_->replaceable()) {
      // If that fails (no room for both), the file written so far is still there, and is continued.
      if (CaptureSink(path_, owner_).finish(profile)) return {};
    }
    TRY(open());
    if (sequence_ == 0) {
      TRY(append_whole(profile));
    } else {
      TRY(append_growth(profile));
      TRY(append_moved(profile));
      TRY(append_locations(profile, false));
      TRY(append_section(Section::kHeader, [&](ByteWriter& out) { append_header(out, profile.header); }));
    }
    TRY(append_section(Section::kEnd, [&](ByteWriter& out) { out.uleb128(profile.sample_count()); }));
    TRY(write_chunk());
    return file_->commit();
  }

  std::string description() const override { return fmt::format("recording in {}", path_); }

 private:
  Result<void> open() {
    if (file_) return {};
    file_.emplace(TRY(OutputFile::create(path_, owner_)));
    ByteWriter head;
    head.append(kCaptureMagic);
    head.u32(kCaptureVersion);
    file_->write(head.bytes());
    return {};
  }

  // Large tables are cut into several sections and chunks: no section is much larger than kSoftChunkBytes.
  template <typename AppendContent>
  Result<void> append_section(Section kind, AppendContent append_content) {
    content_.clear();
    append_content(content_);
    if (content_.empty()) return {};
    raw_.uleb128(static_cast<uint64_t>(kind));
    raw_.text(content_.bytes());
    if (raw_.size() < kSoftChunkBytes) return {};
    return write_chunk();
  }

  // Rows [done, size) of a table, at most `step` a section.
  template <typename AppendRows>
  Result<void> append_table(Section kind, size_t& done, size_t size, size_t step, AppendRows append_rows) {
    while (done < size) {
      const size_t end = std::min(size, done + step);
      TRY(append_section(kind, [&](ByteWriter& out) {
        out.uleb128(end - done);
        append_rows(out, done, end);
      }));
      done = end;
    }
    return {};
  }

  // Everything that samples refer to before the samples, in chunks of their own: whatever is left of a file that was cut off has names.
  Result<void> append_whole(const Profile& profile) {
    const bool huge = profile.sample_count() > kMaxRewritten;
    level_ = huge ? 3 : 9;
    TRY(append_section(Section::kHeader, [&](ByteWriter& out) { append_header(out, profile.header); }));
    if (profile.sample_count() + profile.stacks().size() + profile.frames().size() <= kMaxPacked) {
      TRY(append_packed_strings(profile));
      TRY(append_strings(profile));
      TRY(append_images(profile));
      packed_ = TRY(append_packed_calls(profile));
      if (packed_) TRY(append_packed_names(profile));
    }
    TRY(append_tables(profile));
    TRY(append_locations(profile, true));
    TRY(write_chunk());
    while (samples_ < profile.sample_count()) {
      TRY(append_samples(profile, huge ? kSamplesPerSection : kSamplesPerChunk));
      TRY(write_chunk());
    }
    return {};
  }

  Result<void> append_growth(const Profile& profile) {
    TRY(append_tables(profile));
    while (samples_ < profile.sample_count()) TRY(append_samples(profile, kSamplesPerSection));
    return {};
  }

  // The next `step` samples, or what is left.
  Result<void> append_samples(const Profile& profile, size_t step) {
    if (packed_ && TRY(append_packed_samples(profile, std::min(profile.sample_count() - samples_, step)))) return {};
    return append_table(Section::kSamples, samples_, std::min(profile.sample_count(), samples_ + step), step,
                        [&](ByteWriter& out, size_t begin, size_t end) { append_columns(out, profile.samples(), begin, end); });
  }

  Result<void> append_tables(const Profile& profile) {
    TRY(append_strings(profile));
    TRY(append_images(profile));
    TRY(append_table(Section::kFunctions, functions_, profile.functions().size(), kStep, [&](ByteWriter& out, size_t begin, size_t end) {
      const auto rows = profile.functions().subspan(begin, end - begin);
      for (const auto& row : rows) out.uleb128(plus_one(row.name));
      for (const auto& row : rows) out.uleb128(plus_one(row.linkage_name));
      for (const auto& row : rows) out.uleb128(plus_one(row.image));
    }));
    TRY(append_table(Section::kFrames, frames_, profile.frames().size(), kStep,
                     [&](ByteWriter& out, size_t begin, size_t end) { append_frames(out, profile.frames().subspan(begin, end - begin)); }));
    TRY(append_table(Section::kStacks, stacks_, profile.stacks().size(), kStep, [&](ByteWriter& out, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const profile::Stack& stack = profile.stacks()[i];
        out.uleb128(stack.parent.valid() ? i - stack.parent.value : 0);
      }
      int64_t last = 0;
      for (const profile::Stack& stack : profile.stacks().subspan(begin, end - begin)) {
        out.zigzag(int64_t{stack.frame.value} - last);
        last = stack.frame.value;
      }
    }));
    TRY(append_processes(profile));
    return append_threads(profile);
  }

  Result<void> append_images(const Profile& profile) {
    return append_table(Section::kImages, images_, profile.images().size(), kStep, [&](ByteWriter& out, size_t begin, size_t end) {
      for (const profile::Image& image : profile.images().subspan(begin, end - begin)) {
        out.uleb128(plus_one(image.path));
        out.uleb128(plus_one(image.build_id));
        out.u8(static_cast<uint8_t>(image.kind));
      }
    });
  }

  // `head` are the plain numbers in front. False: the rows are so much alike that a reader would not believe it; nothing was appended.
  Result<bool> append_packed(Section kind, const ByteWriter& head, const std::string& packed, size_t rows) {
    if (rows > (head.size() + packed.size()) * (kMaxPackedRowsPerByte / 2)) return false;
    TRY(append_section(kind, [&](ByteWriter& out) {
      out.append(head.bytes());
      out.append(packed);
    }));
    return true;
  }

  Result<void> append_packed_strings(const Profile& profile) {
    std::vector<PackedString> strings(profile.strings().size());
    uint64_t bytes = 0;
    for (size_t i = 0; i < strings.size(); ++i) bytes += profile.text(profile::StringId(i)).size();
    if (bytes > kMaxPackedText) return {};
    std::vector<bool> is_source(strings.size());
    for (const profile::Function& function : profile.functions()) {
      const uint32_t name = function.name.value, from = function.linkage_name.value;
      if (!function.name.valid() || !function.linkage_name.valid() || name == from || is_source[name]) continue;
      if (strings[name].linkage_name != PackedString::kItself || strings[from].linkage_name != PackedString::kItself) continue;
      if (shown_name(profile.text(function.linkage_name)) != profile.text(function.name)) continue;
      strings[name].linkage_name = from;
      is_source[from] = true;
    }
    bytes = 0;
    for (size_t i = 0; i < strings.size(); ++i) {
      if (strings[i].linkage_name != PackedString::kItself) continue;
      strings[i].text = profile.text(profile::StringId(i));
      if (strings[i].text.find('\0') != std::string::npos) return {};
      bytes += strings[i].text.size() + 1;
    }
    Encoder encoder;
    code_strings(encoder, strings, bytes);
    const std::string& packed = encoder.finish();
    if (bytes > packed.size() * (kMaxPackedTextPerByte / 2)) return {};
    ByteWriter head;
    head.uleb128(strings.size());
    head.uleb128(bytes);
    if (TRY(append_packed(Section::kPackedStrings, head, packed, strings.size()))) strings_ = strings.size();
    return {};
  }

  Result<bool> append_packed_calls(const Profile& profile) {
    std::vector<profile::Frame> frames(profile.frames().begin(), profile.frames().end());
    stack_rows_.clear();
    for (const profile::Stack& stack : profile.stacks()) stack_rows_.push_back({stack.parent.value, stack.frame.value});
    Encoder encoder;
    if (!CallCoder(encoder, frames, stack_rows_).code()) return false;
    ByteWriter head;
    head.uleb128(frames.size());
    head.uleb128(stack_rows_.size());
    if (!TRY(append_packed(Section::kPackedCalls, head, encoder.finish(), frames.size() + stack_rows_.size()))) return false;
    frames_ = frames.size();
    stacks_ = stack_rows_.size();
    chain_ends_ = chain_ends(stack_rows_);
    return true;
  }

  Result<void> append_packed_names(const Profile& profile) {
    Encoder encoder;
    FunctionCoder functions(encoder);
    for (profile::Function row : profile.functions()) functions.code(row);
    LocationCoder coder(encoder, profile.functions().size());
    std::vector<profile::Location> locations;
    size_t rows = profile.functions().size();
    for (const uint32_t frame : by_address({profile.frames().begin(), profile.frames().end()})) {
      locations.assign(profile.locations(profile::FrameId(frame)).begin(), profile.locations(profile::FrameId(frame)).end());
      rows += locations.size();
      if (!coder.code(locations)) return {};
    }
    ByteWriter head;
    head.uleb128(profile.functions().size());
    if (!TRY(append_packed(Section::kPackedNames, head, encoder.finish(), rows))) return {};
    functions_ = profile.functions().size();
    located_.assign(profile.frames().size(), true);
    return {};
  }

  Result<bool> append_packed_samples(const Profile& profile, size_t count) {
    profile::SampleColumns columns;
    const auto slice = [&](auto& to, const auto& from) {
      const auto begin = from.begin() + static_cast<ptrdiff_t>(samples_);
      to.assign(begin, begin + static_cast<ptrdiff_t>(count));
    };
    const profile::SampleColumns& all = profile.samples();
    slice(columns.time_ns, all.time_ns), slice(columns.thread, all.thread), slice(columns.stack, all.stack), slice(columns.value, all.value);
    slice(columns.cpu, all.cpu), slice(columns.kind, all.kind), slice(columns.flags, all.flags);
    Encoder encoder;
    SampleCoder coder(encoder, chain_ends_, profile.threads().size());
    if (!coder.code(columns, tick(columns, 0, count), next_stack_)) return false;
    ByteWriter head;
    head.uleb128(count);
    if (!TRY(append_packed(Section::kPackedSamples, head, encoder.finish(), count))) return false;
    samples_ += count;
    next_stack_ = coder.next();
    return true;
  }

  Result<void> append_strings(const Profile& profile) {
    while (strings_ < profile.strings().size()) {
      size_t end = strings_, bytes = 0;
      for (; end < profile.strings().size() && bytes < kSoftChunkBytes; ++end) bytes += 4 + profile.text(profile::StringId(end)).size();
      TRY(append_section(Section::kStrings, [&](ByteWriter& out) {
        out.uleb128(end - strings_);
        for (size_t i = strings_; i < end; ++i) out.uleb128(cut(profile.text(profile::StringId(i))).size());
        for (size_t i = strings_; i < end; ++i) out.append(cut(profile.text(profile::StringId(i))));
      }));
      strings_ = end;
    }
    return {};
  }

  // A single text larger than a chunk may be is cut; a symbol name of 16 MB says nothing that its first 16 MB do not.
  static std::string_view cut(std::string_view text) { return text.substr(0, 16 << 20); }

  void append_frames(ByteWriter& out, std::span<const profile::Frame> rows) {
    for (const auto& row : rows) out.u8(static_cast<uint8_t>(row.kind));
    for (const auto& row : rows) out.uleb128(plus_one(row.image));
    for (const auto& row : rows) out.uleb128(row.address_space);
    uint64_t last = 0;
    for (const auto& row : rows) {
      out.zigzag(static_cast<int64_t>(row.address - last));
      last = row.address;
    }
    for (const auto& row : rows) out.uleb128(plus_one(row.label));
  }

  // Names change while a process lives (exec, prctl): a changed row is written again.
  Result<void> append_processes(const Profile& profile) {
    return append_section(Section::kProcesses, [&](ByteWriter& out) {
      for (size_t i = 0; i < profile.processes().size(); ++i) {
        const profile::Process& row = profile.processes()[i];
        const std::array<uint64_t, 4> now = {plus_one(row.name), plus_one(row.cmdline), plus_one(row.cgroup),
                                             static_cast<uint32_t>(row.parent_pid)};
        if (i < processes_.size() && processes_[i] == now) continue;
        if (i == processes_.size()) processes_.push_back(now);
        processes_[i] = now;
        out.uleb128(i);
        out.uleb128(static_cast<uint32_t>(row.pid));
        out.uleb128(row.start_ns);
        for (const uint64_t number : now) out.uleb128(number);
      }
    });
  }

  Result<void> append_threads(const Profile& profile) {
    return append_section(Section::kThreads, [&](ByteWriter& out) {
      for (size_t i = 0; i < profile.threads().size(); ++i) {
        const profile::Thread& row = profile.threads()[i];
        const uint64_t now = plus_one(row.name) << 1 | (row.main ? 1 : 0);
        if (i < threads_.size() && threads_[i] == now) continue;
        if (i == threads_.size()) threads_.push_back(now);
        threads_[i] = now;
        out.uleb128(i);
        out.uleb128(row.process.value);
        out.uleb128(static_cast<uint32_t>(row.tid));
        out.uleb128(now);
      }
    });
  }

  static void append_columns(ByteWriter& out, const profile::SampleColumns& columns, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) out.uleb128(columns.cpu[i]);
    append_times(out, columns, begin, end);
    for (size_t i = begin; i < end; ++i) out.uleb128(columns.thread[i].value);
    for (size_t i = begin; i < end; ++i) out.uleb128(plus_one(columns.stack[i]));
    for (size_t i = begin; i < end; ++i) out.uleb128(columns.value[i]);
    for (size_t i = begin; i < end; ++i) out.u8(static_cast<uint8_t>(columns.kind[i]));
    for (size_t i = begin; i < end; ++i) out.u8(columns.flags[i]);
  }

  // The median distance of two samples of one CPU.
  static uint64_t tick(const profile::SampleColumns& columns, size_t begin, size_t end) {
    const uint16_t last_cpu = *std::max_element(columns.cpu.begin() + static_cast<ptrdiff_t>(begin), columns.cpu.begin() + static_cast<ptrdiff_t>(end));
    std::vector<uint64_t> last(size_t{last_cpu} + 1, 0), distances;
    for (size_t i = begin; i < end; ++i) {
      uint64_t& before = last[columns.cpu[i]];
      if (before != 0 && columns.time_ns[i] > before && distances.size() < 4096) distances.push_back(columns.time_ns[i] - before);
      before = columns.time_ns[i];
    }
    if (distances.empty()) return 0;
    std::nth_element(distances.begin(), distances.begin() + static_cast<ptrdiff_t>(distances.size() / 2), distances.end());
    return distances[distances.size() / 2];
  }

  // Each time is written as its distance from (previous time of the same CPU + tick); the first of a CPU, from the previous time of any.
  static void append_times(ByteWriter& out, const profile::SampleColumns& columns, size_t begin, size_t end) {
    const uint64_t step = tick(columns, begin, end);
    out.uleb128(step);
    std::vector<uint64_t> last(size_t{1} << 16);
    uint64_t any = 0;
    for (size_t i = begin; i < end; ++i) {
      uint64_t& before = last[columns.cpu[i]];
      const uint64_t expected = before != 0 ? before + step : any;
      out.zigzag(static_cast<int64_t>(columns.time_ns[i] - expected));
      before = any = columns.time_ns[i];
    }
  }

  // Naming puts labels into stacks that were written before.
  Result<void> append_moved(const Profile& profile) {
    return append_section(Section::kMoved, [&](ByteWriter& out) {
      size_t last = 0;
      for (size_t i = 0; i < stacks_of_samples_.size(); ++i) {
        const profile::StackId now = profile.samples().stack[i];
        if (now == stacks_of_samples_[i]) continue;
        out.uleb128(i - last);
        out.uleb128(plus_one(now));
        last = i;
      }
    });
  }

  // While recording, only generated code has names; they are written when they are new.
  Result<void> append_locations(const Profile& profile, bool only_new) {
    located_.resize(profile.frames().size());
    for (size_t begin = 0; begin < profile.frames().size(); begin += kStep / 4) {
      const size_t end = std::min(profile.frames().size(), begin + kStep / 4);
      TRY(append_section(Section::kLocations, [&](ByteWriter& out) {
        size_t last = 0;
        for (size_t i = begin; i < end; ++i) {
          const auto locations = profile.locations(profile::FrameId(i));
          if (locations.empty() || (only_new && located_[i])) continue;
          located_[i] = true;
          out.uleb128(i - last);
          last = i;
          out.uleb128(locations.size());
          for (const profile::Location& location : locations) {
            out.uleb128(location.function.value);
            out.uleb128(plus_one(location.file));
            out.uleb128(location.line);
            out.u8(static_cast<uint8_t>(static_cast<unsigned>(location.source) << 1 | (location.inlined ? 1U : 0U)));
          }
        }
      }));
    }
    return {};
  }

  Result<void> write_chunk() {
    if (raw_.empty()) return {};
    std::string stored(ZSTD_compressBound(raw_.size()), '\0');
    const size_t size = ZSTD_compress(stored.data(), stored.size(), raw_.bytes().data(), raw_.size(), raw_.size() < (4 << 20) ? level_ : 3);
    CHECK(ZSTD_isError(size) == 0);
    ByteWriter head;
    head.u32(kChunkMagic);
    head.u32(static_cast<uint32_t>(size));
    head.u32(static_cast<uint32_t>(raw_.size()));
    head.u32(sequence_++);
    uLong crc = ::crc32(0, reinterpret_cast<const Bytef*>(head.bytes().data()), static_cast<uInt>(head.size()));
    crc = ::crc32(crc, reinterpret_cast<const Bytef*>(stored.data()), static_cast<uInt>(size));
    head.u32(static_cast<uint32_t>(crc));
    file_->write(head.bytes());
    file_->write(std::string_view(stored).substr(0, size));
    raw_.clear();
    return file_->flush();
  }

  std::string path_;
  std::optional<FileOwner> owner_;
  std::optional<OutputFile> file_;
  bool header_written_ = false;
  uint32_t sequence_ = 0;
  int level_ = 9;  // what is small (a second, a usual recording) costs little at a high one; big chunks get 3
  // rows written so far
  size_t strings_ = 0, images_ = 0, functions_ = 0, frames_ = 0, stacks_ = 0, samples_ = 0;
  bool packed_ = false;
  std::vector<PackedStack> stack_rows_;
  std::vector<uint32_t> chain_ends_;  // of packed stacks
  uint64_t next_stack_ = 0;           // the first that no packed samples reached
  std::vector<std::array<uint64_t, 4>> processes_;  // as last written
  std::vector<uint64_t> threads_;
  std::vector<bool> located_;  // frames whose locations were written
  std::vector<profile::StackId> stacks_of_samples_;  // as written by update()
  ByteWriter raw_, content_;
};

}  // namespace

std::unique_ptr<profile::Sink> make_capture_sink(std::string path, const SinkOptions& options) {
  return std::make_unique<CaptureSink>(std::move(path), options.owner);
}

}  // namespace cicada::sink
