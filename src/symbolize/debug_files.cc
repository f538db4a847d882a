// SPDX-License-Identifier: Apache-2.0
// Source: gdb manual, "Debugging Information in Separate Files".
#include "symbolize/debug_files.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>

#include "base/diagnostics.h"

namespace cicada::symbolize {
namespace {

std::string folder_of(const std::string& path) {
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

bool exists(const std::string& path) {
  struct stat st {};
  return !path.empty() && ::stat(path.c_str(), &st) == 0;
}

// `crc`: checked only if the image has no build-id to compare.
std::optional<elf::ElfFile> open_checked(const elf::ElfFile& elf, const std::string& candidate, std::optional<uint32_t> crc) {
  if (!exists(candidate)) return std::nullopt;
  Result<elf::ElfFile> file = elf::ElfFile::open(candidate);
  if (!file) {
    diagnostics().warn(candidate, "{}", file.error().message());
    return std::nullopt;
  }
  // The image itself can be reached through its own link's name.
  if (file->find_section(".debug_info") == nullptr && file->find_section(".zdebug_info") == nullptr && file->find_section(".symtab") == nullptr) {
    return std::nullopt;
  }
  const std::string wanted = elf.build_id(), got = file->build_id();
  if (!wanted.empty() && !got.empty()) {
    if (wanted == got) return std::move(*file);
    diagnostics().warn(candidate, "{}: build-id {} is not that of {} ({}); not used", candidate, got, elf.name(), wanted);
    return std::nullopt;
  }
  if (crc && debug_link_crc(file->bytes()) == *crc) return std::move(*file);
  diagnostics().warn(candidate, "{}: its checksum is not the one {} asks for; not used", candidate, elf.name());
  return std::nullopt;
}

}  // namespace

uint32_t debug_link_crc(Bytes bytes) {
  uLong crc = ::crc32(0, nullptr, 0);
  while (!bytes.empty()) {
    const size_t step = std::min<size_t>(bytes.size(), 1 << 30);
    crc = ::crc32(crc, bytes.data(), static_cast<uInt>(step));
    bytes = bytes.subspan(step);
  }
  return static_cast<uint32_t>(crc);
}

std::string build_id_path(const std::string& dir, const std::string& build_id, const std::string& suffix) {
  if (build_id.size() < 4 || build_id.size() > 128 || build_id.find_first_not_of("0123456789abcdef") != std::string::npos) return {};
  return dir + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + suffix;
}

std::optional<elf::ElfFile> find_debug_file(const elf::ElfFile& elf, const std::string& path, const std::vector<std::string>& debug_dirs) {
  const std::string build_id = elf.build_id();
  for (const std::string& dir : debug_dirs) {
    if (auto file = open_checked(elf, build_id_path(dir, build_id, ".debug"), std::nullopt)) return file;
  }
  const auto link = find_link(elf);
  if (!link || !path.starts_with('/')) return std::nullopt;
  const std::string folder = folder_of(path);
  std::vector<std::string> candidates{folder + "/" + link->name, folder + "/.debug/" + link->name};
  for (const std::string& dir : debug_dirs) candidates.push_back(dir + folder + "/" + link->name);
  for (const std::string& candidate : candidates) {
    if (candidate == path) continue;
    if (auto file = open_checked(elf, candidate, link->crc)) return file;
  }
  return std::nullopt;
}

std::optional<elf::ElfFile> find_alternate_file(const elf::ElfFile& debug, const std::vector<std::string>& debug_dirs) {
  const elf::Section* section = debug.find_section(".gnu_debugaltlink");
  if (section == nullptr) return std::nullopt;
  ByteCursor cursor(debug.contents(*section));
  const std::string name(cursor.c_string());
  const std::string build_id = to_hex(cursor.take(cursor.remaining()));
  std::vector<std::string> candidates;
  for (const std::string& dir : debug_dirs) candidates.push_back(build_id_path(dir, build_id, ".debug"));
  if (!name.empty()) candidates.push_back(name.starts_with('/') ? name : folder_of(debug.name()) + "/" + name);
  for (const std::string& candidate : candidates) {
    if (!exists(candidate)) continue;
    Result<elf::ElfFile> file = elf::ElfFile::open(candidate);
    if (file && file->build_id() == build_id) return std::move(*file);
    diagnostics().warn(candidate, "{}: {}; not used as the shared debug file of {}", candidate,
                       file ? "another build-id" : file.error().message().c_str(), debug.name());
  }
  return std::nullopt;
}

}  // namespace cicada::symbolize
