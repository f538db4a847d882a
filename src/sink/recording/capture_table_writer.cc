// SPDX-License-Identifier: Apache-2.0
#include "sink/recording/capture_table_writer.h"

#include <algorithm>

#include "sink/recording/capture_ids.h"

namespace cicada::sink {
namespace {

constexpr size_t kStep = 1 << 18;  // rows of a table in a section

// A single text larger than a chunk may be is cut; a symbol name of 16 MB says nothing that its first 16 MB do not.
std::string_view cut(std::string_view text) { return text.substr(0, 16 << 20); }

template <typename T>
std::vector<T> rows_of(const profile::Log<T>& log, size_t begin, size_t end) {
  return {log.begin() + static_cast<ptrdiff_t>(begin), log.begin() + static_cast<ptrdiff_t>(end)};
}

void append_frames(ByteWriter& out, const std::vector<profile::Frame>& rows) {
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

}  // namespace

using profile::Profile;
using profile::ProfileSnapshot;

Result<void> TableWriter::append_growth(const ProfileSnapshot& profile) {
  TRY(append_strings(profile));
  TRY(append_images(profile));
  TRY(chunks_.append_table(Section::kFunctions, progress_.functions, profile.functions().size(), kStep, [&](ByteWriter& out, size_t begin, size_t end) {
    const auto rows = rows_of(profile.functions(), begin, end);
    for (const auto& row : rows) out.uleb128(plus_one(row.name));
    for (const auto& row : rows) out.uleb128(plus_one(row.linkage_name));
    for (const auto& row : rows) out.uleb128(plus_one(row.image));
  }));
  TRY(chunks_.append_table(Section::kFrames, progress_.frames, profile.frames().size(), kStep,
                           [&](ByteWriter& out, size_t begin, size_t end) { append_frames(out, rows_of(profile.frames(), begin, end)); }));
  TRY(chunks_.append_table(Section::kStacks, progress_.stacks, profile.stacks().size(), kStep, [&](ByteWriter& out, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const profile::Stack& stack = profile.stacks()[i];
      out.uleb128(stack.parent.valid() ? i - stack.parent.value : 0);
    }
    int64_t last = 0;
    for (const profile::Stack& stack : rows_of(profile.stacks(), begin, end)) {
      out.zigzag(int64_t{stack.frame.value} - last);
      last = stack.frame.value;
    }
  }));
  TRY(append_processes(profile));
  return append_threads(profile);
}

Result<void> TableWriter::append_images(const ProfileSnapshot& profile) {
  return chunks_.append_table(Section::kImages, progress_.images, profile.images().size(), kStep, [&](ByteWriter& out, size_t begin, size_t end) {
    for (const profile::Image& image : rows_of(profile.images(), begin, end)) {
      out.uleb128(plus_one(image.path));
      out.uleb128(plus_one(image.build_id));
      out.u8(static_cast<uint8_t>(image.kind));
    }
  });
}

Result<void> TableWriter::append_strings(const ProfileSnapshot& profile) {
  while (progress_.strings < profile.strings().size()) {
    size_t end = progress_.strings, bytes = 0;
    for (; end < profile.strings().size() && bytes < kSoftChunkBytes; ++end) bytes += 4 + profile.text(profile::StringId(end)).size();
    TRY(chunks_.append_section(Section::kStrings, [&](ByteWriter& out) {
      out.uleb128(end - progress_.strings);
      for (size_t i = progress_.strings; i < end; ++i) out.uleb128(cut(profile.text(profile::StringId(i))).size());
      for (size_t i = progress_.strings; i < end; ++i) out.append(cut(profile.text(profile::StringId(i))));
    }));
    progress_.strings = end;
  }
  return {};
}

// Names change while a process lives (exec, prctl): a changed row is written again.
Result<void> TableWriter::append_processes(const ProfileSnapshot& profile) {
  return chunks_.append_section(Section::kProcesses, [&](ByteWriter& out) {
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

Result<void> TableWriter::append_threads(const ProfileSnapshot& profile) {
  return chunks_.append_section(Section::kThreads, [&](ByteWriter& out) {
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

// While recording, only generated code has names; they are written when they are new.
Result<void> TableWriter::append_locations(const ProfileSnapshot& profile, bool only_new) {
  progress_.located.resize(profile.frames().size());
  for (size_t begin = 0; begin < profile.frames().size(); begin += kStep / 4) {
    const size_t end = std::min(profile.frames().size(), begin + kStep / 4);
    TRY(chunks_.append_section(Section::kLocations, [&](ByteWriter& out) {
      size_t last = 0;
      for (size_t i = begin; i < end; ++i) {
        const auto locations = profile.locations(profile::FrameId(i));
        if (locations.empty() || (only_new && progress_.located[i])) continue;
        progress_.located[i] = true;
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

}  // namespace cicada::sink
