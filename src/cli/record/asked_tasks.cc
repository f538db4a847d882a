// SPDX-License-Identifier: Apache-2.0
#include "cli/record/asked_tasks.h"

#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/quantity.h"

namespace cicada::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kCommBytes = sizeof asked_name::text - 1;  // the kernel cuts names here
constexpr size_t kShortestId = 6, kMostDirectories = 100'000;

std::vector<std::string> all_of(const std::vector<std::string>& lists) {
  std::vector<std::string> words;
  for (const std::string& list : lists) {
    for (std::string& word : split_list(list)) words.push_back(std::move(word));
  }
  return words;
}

template <typename T, typename Find>
Result<void> fill(T (&places)[MAX_ASKED], uint32_t& count, const std::vector<std::string>& lists, const char* option, Find find) {
  const std::vector<std::string> words = all_of(lists);
  if (!lists.empty() && words.empty()) return make_error(ErrorKind::kInvalid, "{}: nothing is named", option);
  if (words.size() > MAX_ASKED) return make_error(ErrorKind::kInvalid, "{}: {} are too many; {} at most", option, words.size(), MAX_ASKED);
  for (const std::string& word : words) places[count++] = TRY(find(word));
  return {};
}

Result<uint32_t> find_user(const std::string& word) {
  uint32_t uid = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), uid);
  if (error == std::errc() && end == word.data() + word.size()) return uid;
  const passwd* entry = ::getpwnam(word.c_str());
  if (entry == nullptr) return make_error(ErrorKind::kNotFound, "--user {}: no such user; a name or a number", word);
  return entry->pw_uid;
}

Result<asked_name> name_of(const std::string& word) {
  asked_name name{};
  const bool prefix = word.ends_with('*');
  const std::string_view text = std::string_view(word).substr(0, std::min(word.size() - (prefix ? 1 : 0), kCommBytes));
  std::memcpy(name.text, text.data(), text.size());
  name.bytes = static_cast<uint32_t>(text.size() + (prefix ? 0 : 1));
  return name;
}

Result<std::string> find_hierarchy() {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent, device, root, mount_point;
    words >> id >> parent >> device >> root >> mount_point;
    if (root == "/" && line.find(" - cgroup2 ") != std::string::npos) return mount_point;
  }
  return make_error(ErrorKind::kNotFound, "--cgroup: no cgroup2 file system is mounted here; control groups of version 1 are not asked for");
}

Result<asked_cgroup> cgroup_at(const fs::path& mount_point, const fs::path& directory) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return make_error(ErrorKind::kNotFound, "--cgroup {}: no such control group below {}", directory.string(), mount_point.string());
  const fs::path below = directory.lexically_normal().lexically_relative(mount_point.lexically_normal());
  uint32_t level = 0;
  for (const fs::path& part : below) level += part.empty() || part == "." ? 0 : 1;
  return asked_cgroup{status.st_ino, level, 0};
}

bool is_part_of_id(std::string_view text) {
  return text.size() >= kShortestId && std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Groups below one that fits are its own.
Result<std::vector<fs::path>> find_containers(const fs::path& mount_point, std::string_view id) {
  std::vector<fs::path> found;
  std::error_code error;
  size_t looked = 0;
  for (fs::recursive_directory_iterator at(mount_point, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_directory(error)) continue;
    if (++looked > kMostDirectories) return make_error(ErrorKind::kLimit, "--cgroup {}: more than {} control groups; give its path", id, kMostDirectories);
    if (at->path().filename().string().find(id) == std::string::npos) continue;
    found.push_back(at->path());
    at.disable_recursion_pending();
  }
  return found;
}

}  // namespace

Result<asked_cgroup> find_cgroup(const std::string& mount_point, std::string_view text) {
  const fs::path root(mount_point);
  const fs::path given(text);
  const fs::path absolute = given.is_absolute() && given.lexically_normal().string().starts_with(root.lexically_normal().string()) ? given : root / given.relative_path();
  std::error_code error;
  if (fs::is_directory(absolute, error) && !absolute.lexically_normal().lexically_relative(root.lexically_normal()).string().starts_with("..")) return cgroup_at(root, absolute);
  if (!is_part_of_id(text)) return make_error(ErrorKind::kNotFound, "--cgroup {}: no such control group below {}; a path as in /proc/PID/cgroup, or {} letters of a container's id", text, mount_point, kShortestId);
  const std::vector<fs::path> found = TRY(find_containers(root, text));
  if (found.empty()) return make_error(ErrorKind::kNotFound, "--cgroup {}: no control group below {} has that in its name", text, mount_point);
  if (found.size() > 1) return make_error(ErrorKind::kInvalid, "--cgroup {}: {} control groups have that in their names, {} and {} among them; give more of it", text, found.size(), found[0].string(), found[1].string());
  return cgroup_at(root, found.front());
}

Result<asked_tasks> find_asked_tasks(const RawAskedTasks& raw) {
  asked_tasks asked{};
  TRY(fill(asked.user, asked.users, raw.users, "--user", find_user));
  TRY(fill(asked.process, asked.processes, raw.processes, "--comm", name_of));
  TRY(fill(asked.thread, asked.threads, raw.threads, "--thread-name", name_of));
  if (raw.cgroups.empty()) return asked;
  const std::string mount_point = TRY(find_hierarchy());
  TRY(fill(asked.cgroup, asked.cgroups, raw.cgroups, "--cgroup", [&](const std::string& word) { return find_cgroup(mount_point, word); }));
  return asked;
}

std::string describe(const RawAskedTasks& raw) {
  std::string text;
  for (const auto& [what, lists] : {std::pair("user", &raw.users), {"comm", &raw.processes}, {"thread", &raw.threads}, {"cgroup", &raw.cgroups}}) {
    if (lists->empty()) continue;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", what);
    for (const std::string& word : all_of(*lists)) text += " " + word;
  }
  return text;
}

}  // namespace cicada::cli
