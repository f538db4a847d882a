// SPDX-License-Identifier: Apache-2.0
// Source: gdb manual, "Debugging Information in Separate Files".
#include "symbolize/files/debug_files.h"

#include <libdeflate.h>

#include <algorithm>

#include "base/diagnostics.h"

namespace cicada::symbolize {
namespace {

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string to_hex(Bytes bytes) {
  std::string hex;
  for (const uint8_t byte : bytes) hex += fmt::format("{:02x}", byte);
  return hex;
}

struct Link {
  std::string name;
  uint32_t crc = 0;
};

std::optional<Link> find_link(const elf::ElfFile& elf) {
  const elf::Section* section = elf.find_section(".gnu_debuglink");
  if (section == nullptr) return std::nullopt;
  const Bytes bytes = elf.contents(*section);
  ByteCursor cursor(bytes);
  std::string_view name = cursor.c_string();
  cursor.seek((cursor.position() + 3) & ~uint64_t{3});
  const uint32_t crc = cursor.u32();
  if (cursor.failed()) return std::nullopt;
  if (const size_t slash = name.rfind('/'); slash != std::string_view::npos) name = name.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") return std::nullopt;
  return Link{std::string(name), crc};
}

using Place = CompanionFiles::Place;

// A larger file without a build-id is not read to the end to be checked: 16 GiB of a hole cost nothing on disk.
constexpr size_t kMaxCheckedBytes = size_t{256} << 20, kCheckedAtATime = 16 << 20;

uint32_t checksum_of(const elf::ElfFile& elf) {
  uint32_t crc = 0;
  for (Bytes rest = elf.bytes(); !rest.empty();) {
    const size_t size = std::min(rest.size(), kCheckedAtATime);
    crc = libdeflate_crc32(crc, rest.data(), size);
    rest = rest.subspan(size);
    elf.drop_pages();
  }
  return crc;
}

// `crc`: checked only if the image has no build-id to compare.
std::optional<CompanionElf> open_checked(const elf::ElfFile& elf, const std::string& build_id, CompanionFiles& companions, Place place,
                                         const std::string& candidate, std::optional<uint32_t> crc) {
  if (candidate.empty()) return std::nullopt;
  Result<CompanionElf> file = open_companion(companions, place, candidate);
  if (!file) {
    if (file.error().kind() != ErrorKind::kNotFound) diagnostics().warn(candidate, "{}", file.error().message());
    return std::nullopt;
  }
  // The image itself can be reached through its own link's name.
  if (file->elf.find_section(".debug_info") == nullptr && file->elf.find_section(".zdebug_info") == nullptr && file->elf.find_section(".symtab") == nullptr) {
    return std::nullopt;
  }
  const std::string got = file->elf.build_id();
  if (!build_id.empty() && !got.empty()) {
    if (build_id == got) return std::move(*file);
    diagnostics().warn(candidate, "build-id {} is not that of {} ({}); not used", got, elf.name(), build_id);
    return std::nullopt;
  }
  if (crc && file->elf.bytes().size() <= kMaxCheckedBytes && checksum_of(file->elf) == *crc) return std::move(*file);
  diagnostics().warn(candidate, "its checksum is not the one {} asks for; not used", elf.name());
  return std::nullopt;
}

// The file that dwz moved shared DWARF to, and how to tell that it is the right one.
struct AlternateLink {
  std::string name;
  Bytes checksum;  // of .gnu_debugaltlink: the file's build-id
};

// Source: DWARF 5, section 7.3.6.
std::optional<AlternateLink> read_supplementary(const elf::ElfFile& elf, bool of_supplementary_file) {
  const elf::Section* section = elf.find_section(".debug_sup");
  if (section == nullptr) return std::nullopt;
  ByteCursor cursor(elf.contents(*section));
  const uint16_t version = cursor.u16();
  const bool is_supplementary = cursor.u8() != 0;
  AlternateLink link;
  link.name = std::string(cursor.c_string());
  link.checksum = cursor.take(cursor.uleb128());
  if (cursor.failed() || version < 2 || version > 5 || is_supplementary != of_supplementary_file) return std::nullopt;
  return link;
}

std::optional<AlternateLink> find_alternate_link(const elf::ElfFile& debug) {
  const elf::Section* section = debug.find_section(".gnu_debugaltlink");
  if (section == nullptr) return read_supplementary(debug, false);
  ByteCursor cursor(debug.contents(*section));
  AlternateLink link;
  link.name = std::string(cursor.c_string());
  link.checksum = cursor.take(cursor.remaining());
  if (cursor.failed()) return std::nullopt;
  return link;
}

bool has_checksum(const elf::ElfFile& file, const AlternateLink& link) {
  if (link.checksum.empty()) return false;
  if (file.build_id() == to_hex(link.checksum)) return true;
  const auto own = read_supplementary(file, true);
  return own && std::equal(own->checksum.begin(), own->checksum.end(), link.checksum.begin(), link.checksum.end());
}

}  // namespace

std::string build_id_path(const std::string& dir, const std::string& build_id, const std::string& suffix) {
  if (build_id.size() < 4 || build_id.size() > 128 || build_id.find_first_not_of("0123456789abcdef") != std::string::npos) return {};
  return dir + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + suffix;
}

std::optional<DebugFile> find_debug_file(const elf::ElfFile& elf, const std::string& path, const std::vector<std::string>& debug_dirs,
                                         CompanionFiles& companions) {
  const std::string build_id = elf.build_id();
  const auto find = [&](Place place, const std::string& candidate, std::optional<uint32_t> crc) -> std::optional<DebugFile> {
    auto file = open_checked(elf, build_id, companions, place, candidate, crc);
    if (!file) return std::nullopt;
    return DebugFile{std::move(*file), place == Place::kServer ? profile::NameSource::kDebuginfod : profile::NameSource::kDebugFile};
  };
  for (const Place place : {Place::kImage, Place::kHost}) {
    for (const std::string& dir : debug_dirs) {
      if (auto file = find(place, build_id_path(dir, build_id, ".debug"), std::nullopt)) return file;
    }
  }
  if (const auto link = find_link(elf); link && path.starts_with('/')) {
    const std::string directory = directory_of(path);
    std::vector<std::string> candidates{directory + "/" + link->name, directory + "/.debug/" + link->name};
    for (const std::string& dir : debug_dirs) candidates.push_back(dir + directory + "/" + link->name);
    for (const std::string& candidate : candidates) {
      if (candidate == path) continue;
      if (auto file = find(Place::kImage, candidate, link->crc)) return file;
    }
  }
  return find(Place::kServer, build_id, std::nullopt);
}

std::optional<elf::ElfFile> find_alternate_file(const elf::ElfFile& debug, const std::string& path, const std::vector<std::string>& debug_dirs,
                                                CompanionFiles& companions) {
  const auto link = find_alternate_link(debug);
  if (!link) return std::nullopt;
  std::vector<std::string> candidates;
  for (const std::string& dir : debug_dirs) candidates.push_back(build_id_path(dir, to_hex(link->checksum), ".debug"));
  if (link->name.starts_with('/')) {
    candidates.push_back(link->name);
  } else if (!link->name.empty()) {
    // relative to where the debug file lies, which .build-id/ab/cdef.debug may only be a link to
    candidates.push_back(directory_of(path) + "/" + link->name);
    candidates.push_back(directory_of(debug.name()) + "/" + link->name);
  }
  for (const Place place : {Place::kImage, Place::kHost}) {
    for (const std::string& candidate : candidates) {
      if (candidate.empty()) continue;
      Result<CompanionElf> file = open_companion(companions, place, candidate);
      if (file && has_checksum(file->elf, *link)) return std::move(file->elf);
      if (!file && file.error().kind() == ErrorKind::kNotFound) continue;
      diagnostics().warn(candidate, "{}; not used as the shared debug file of {}",
                         file ? "another build-id" : file.error().message().c_str(), debug.name());
    }
  }
  return std::nullopt;
}

}  // namespace cicada::symbolize
