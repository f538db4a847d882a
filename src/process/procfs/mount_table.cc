// SPDX-License-Identifier: Apache-2.0
// "36 35 98:0 /mnt1 /mnt2 rw,noatime …": number, parent, device, its root, where; blanks in the last are \040. Source: proc(5).
#include "process/procfs/mount_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace cicada::process {
namespace {

bool is_octal(char c) { return c >= '0' && c <= '7'; }

std::string unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) && is_octal(text[i + 3])) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::optional<FileIdentity> find_device(std::string_view text) {
  FileIdentity device;
  const char* const end = text.data() + text.size();
  const auto [colon, error] = std::from_chars(text.data(), end, device.major);
  if (error != std::errc() || colon == end || *colon != ':') return std::nullopt;
  const auto [rest, second_error] = std::from_chars(colon + 1, end, device.minor);
  if (second_error != std::errc() || rest != end) return std::nullopt;
  return device;
}

}  // namespace

MountTable::MountTable(std::string_view mountinfo) {
  while (!mountinfo.empty()) {
    const size_t newline = std::min(mountinfo.find('\n'), mountinfo.size());
    std::string_view line = mountinfo.substr(0, newline);
    mountinfo.remove_prefix(std::min(newline + 1, mountinfo.size()));
    std::array<std::string_view, 5> words;
    for (std::string_view& word : words) {
      const size_t blank = std::min(line.find(' '), line.size());
      word = line.substr(0, blank);
      line.remove_prefix(std::min(blank + 1, line.size()));
    }
    const auto device = find_device(words[2]);
    if (device && words[4].starts_with('/')) by_path_[unescape(words[4])] = *device;  // a later one covers an earlier one
  }
}

std::vector<MountPoint> MountTable::on_the_way_to(std::string_view path) const {
  std::vector<MountPoint> found;
  for (size_t slash = 0; slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
    const auto at = by_path_.find(slash == 0 ? path.substr(0, 1) : path.substr(0, slash));
    if (at != by_path_.end()) found.push_back({at->first, at->second});
  }
  return found;
}

}  // namespace cicada::process
