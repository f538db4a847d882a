// SPDX-License-Identifier: Apache-2.0
// Source for the order of search: ld.so(8), without the cache, whose directories are the default ones nearly everywhere.
#include "cli/launch/startup_images.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "abi/arch.h"
#include "base/file_mapping.h"
#include "base/seeded_hash.h"
#include "elf/dynamic_entries.h"

namespace cicada::cli {
namespace {

constexpr size_t kMaxImages = 256;
constexpr int kMaxScripts = 4;  // as the kernel
constexpr uint64_t kPageMask = 4095;
constexpr std::string_view kDefaultDirectories[] = {"/lib/" ARCH_NAME "-linux-gnu", "/usr/lib/" ARCH_NAME "-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"};

// What follows "#!", or nothing.
std::string script_interpreter(const std::string& path) {
  const auto file = open_regular(path);
  char line[256];
  const ssize_t size = file ? ::read(file->get(), line, sizeof line) : -1;
  if (size < 3 || line[0] != '#' || line[1] != '!') return {};
  const std::string_view text(line + 2, static_cast<size_t>(size) - 2);
  const size_t begin = text.find_first_not_of(" \t");
  const size_t end = text.find_first_of(" \t\n", begin);
  return begin == std::string_view::npos || end == std::string_view::npos ? std::string() : std::string(text.substr(begin, end - begin));
}

void append_directories(std::string_view list, const std::string& origin, std::vector<std::string>& directories) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(':'), list.size());
    std::string directory(list.substr(0, end));
    for (const std::string_view name : {"$ORIGIN", "${ORIGIN}"}) {
      if (const size_t at = directory.find(name); at != std::string::npos) directory.replace(at, name.size(), origin);
    }
    if (!directory.empty()) directories.push_back(std::move(directory));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

struct DynamicNames {
  std::vector<std::string> needed;
  std::string run_path;
};

DynamicNames read_dynamic(const elf::ElfFile& elf) {
  DynamicNames names;
  const elf::DynamicEntries entries(elf);
  std::vector<uint64_t> needed;
  std::optional<uint64_t> path;
  entries.for_each([&](uint64_t tag, uint64_t value) {
    if (tag == DT_NEEDED && needed.size() < kMaxImages) needed.push_back(value);
    if (tag == DT_RUNPATH || tag == DT_RPATH) path = value;
  });
  const Bytes strings = entries.strings();
  for (const uint64_t offset : needed) names.needed.emplace_back(text_at(strings, offset, PATH_MAX));
  if (path) names.run_path = text_at(strings, *path, PATH_MAX);
  return names;
}

class Search {
 public:
  explicit Search(const std::vector<std::string>& environment) {
    constexpr std::string_view kVariable = "LD_LIBRARY_PATH=";
    for (const std::string& variable : environment) {
      if (variable.starts_with(kVariable)) library_path_ = variable.substr(kVariable.size());
    }
  }

  std::vector<StartupImage> run(std::string program) {
    for (int i = 0; i < kMaxScripts; ++i) {
      std::string interpreter = script_interpreter(program);
      if (interpreter.empty()) break;
      program = std::move(interpreter);
    }
    add(program);
    for (; !queue_.empty() && images_.size() < kMaxImages; queue_.pop_front()) look_into(queue_.front());
    return std::move(images_);
  }

 private:
  bool add(const std::string& path) {
    if (path.empty() || ::access(path.c_str(), R_OK) != 0) return false;
    queue_.push_back(path);
    return true;
  }

  void look_into(const std::string& path) {
    const auto file = open_regular(path);
    const auto elf = elf::ElfFile::open(path);
    if (!file || !elf) return;
    if (known_.insert(elf->interpreter()).second) add(elf->interpreter());
    for (const elf::Segment& segment : elf->segments()) {
      if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0 || segment.file_size == 0) continue;
      const uint64_t begin = segment.offset.value & ~kPageMask;
      const int copy = ::fcntl(file->get(), F_DUPFD_CLOEXEC, 0);
      if (copy >= 0) images_.push_back({UniqueFd(copy), begin, segment.offset.value + segment.file_size - begin});
    }
    const DynamicNames names = read_dynamic(*elf);
    std::vector<std::string> directories;
    append_directories(library_path_, "", directories);
    append_directories(names.run_path, path.substr(0, path.rfind('/')), directories);
    directories.insert(directories.end(), std::begin(kDefaultDirectories), std::end(kDefaultDirectories));
    for (const std::string& name : names.needed) {
      if (!known_.insert(name).second) continue;
      if (name.find('/') != std::string::npos) {
        add(name);
        continue;
      }
      static_cast<void>(std::any_of(directories.begin(), directories.end(), [&](const std::string& directory) { return add(directory + "/" + name); }));
    }
  }

  std::string library_path_;
  std::deque<std::string> queue_;
  std::unordered_set<std::string, SeededHash> known_;
  std::vector<StartupImage> images_;
};

}  // namespace

std::vector<StartupImage> find_startup_images(const std::string& program, const std::vector<std::string>& environment) {
  return Search(environment).run(program);
}

void map_startup_images(const std::vector<StartupImage>& images) {
  for (const StartupImage& image : images) {
    ::mmap(nullptr, image.size, PROT_READ | PROT_EXEC, MAP_PRIVATE, image.file.get(), static_cast<off_t>(image.offset));
  }
}

}  // namespace cicada::cli
