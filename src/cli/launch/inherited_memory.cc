// SPDX-License-Identifier: Apache-2.0
#include "cli/launch/inherited_memory.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/check.h"

namespace cicada::cli {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // its memory is the sanitizer's, too
#else
constexpr bool kSanitized = false;
#endif

constexpr uint64_t kLeastBytes = 64 << 10;   // smaller mappings: not worth a look at whose they are
constexpr uint64_t kLeastOfABegin = 16 << 10;  // the begin of a library, which nobody relocates: each has some

uint64_t take_hex(std::string_view& text) {
  uint64_t value = 0;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text.front();
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) break;
    value = value << 4 | static_cast<uint64_t>(digit);
  }
  if (!text.empty()) text.remove_prefix(1);
  return value;
}

// A line of /proc/self/maps, private: anonymous memory that is written to, or a part of a file that is not, the tables that the loader has relocated
// among them (1.3 MB of libcapstone's). None of `kept` is in it.
void drop(std::string_view line, const std::array<uint64_t, 4>& kept) {
  const uint64_t begin = take_hex(line), end = take_hex(line);
  const bool heap = line.starts_with("rw-p 00000000 00:00 0") && (line.find('[') == std::string_view::npos || line.ends_with("[heap]"));
  const bool file = line.starts_with("r-") && line[3] == 'p' && line.find('/') != std::string_view::npos;
  const bool is_begin = file && line.starts_with("r--p 00000000 ");
  if ((!heap && !file) || end - begin < (is_begin ? kLeastOfABegin : kLeastBytes)) return;
  for (const uint64_t address : kept)
    if (address >= begin && address < end) return;
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

ExecBlock::ExecBlock(const std::string& program, const std::vector<std::string>& argv, const std::vector<std::string>& environment, const std::vector<gid_t>& groups) {
  size_ = sizeof "sh" + program.size() + 1 + (2 * argv.size() + environment.size() + 4) * sizeof(char*) + groups.size() * sizeof(gid_t);
  for (const auto* list : {&argv, &environment})
    for (const std::string& text : *list) size_ += text.size() + 1;
  void* const memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  memory_ = static_cast<char*>(memory);
  argv_ = take<char*>(argv.size() + 1);
  shell_argv_ = take<char*>(argv.size() + 2);
  environment_ = take<char*>(environment.size() + 1);
  auto* const kept_groups = take<gid_t>(groups.size());
  std::copy(groups.begin(), groups.end(), kept_groups);
  groups_ = {kept_groups, groups.size()};
  program_ = add(program);
  for (size_t i = 0; i < argv.size(); ++i) argv_[i] = shell_argv_[i + 1] = add(argv[i]);
  shell_argv_[0] = add("sh");
  shell_argv_[1] = program_;
  for (size_t i = 0; i < environment.size(); ++i) environment_[i] = add(environment[i]);
}

template <typename T>
T* ExecBlock::take(size_t count) {
  auto* const at = reinterpret_cast<T*>(memory_ + used_);
  used_ += count * sizeof(T);
  return at;
}

ExecBlock::~ExecBlock() { ::munmap(memory_, size_); }

char* ExecBlock::add(const std::string& text) {
  char* const at = memory_ + used_;
  std::memcpy(at, text.c_str(), text.size() + 1);
  used_ += text.size() + 1;
  return at;
}

void give_back_inherited_memory(const ExecBlock& kept) {
  if (kSanitized) return;
  const int maps = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC), marks = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (maps < 0 || marks < 0) return;
  std::array<char, 16 << 10> buffer;
  const std::array<uint64_t, 4> addresses = {reinterpret_cast<uint64_t>(kept.program()), reinterpret_cast<uint64_t>(&errno), reinterpret_cast<uint64_t>(buffer.data()),
                                             reinterpret_cast<uint64_t>(&_DYNAMIC[0])};  // our own relocated tables
  size_t filled = 0;
  for (ssize_t got = 0; (got = ::read(maps, buffer.data() + filled, buffer.size() - filled)) > 0;) {
    filled += static_cast<size_t>(got);
    std::string_view text(buffer.data(), filled);
    for (size_t end = 0; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) drop(text.substr(0, end), addresses);
    filled = text.size();
    std::memmove(buffer.data(), text.data(), filled);
  }
  [[maybe_unused]] const ssize_t written = ::write(marks, "5", 1);  // the peak is what there is
}

}  // namespace cicada::cli
