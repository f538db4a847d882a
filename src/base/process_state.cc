// SPDX-License-Identifier: Apache-2.0
#include "base/process_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace cicada {
namespace {

constexpr int kMostBelow = 4;          // processes above one another
constexpr size_t kMostOfAFile = 8192;  // 1,000 children
constexpr std::string_view kDigits = "0123456789";

// /proc/PID/`file`; empty: there is none.
std::string read(pid_t pid, const char* file) {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/%d/%s", pid, file);
  const UniqueFd opened(::open(path.data(), O_RDONLY | O_CLOEXEC));
  std::string text(kMostOfAFile, '\0');
  const ssize_t got = opened ? ::read(opened.get(), text.data(), text.size()) : 0;
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

// The next number of a line, which it leaves there; 0: it has no more.
uint64_t take_number(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_of(kDigits), line.size()));
  uint64_t number = 0;
  std::from_chars(line.data(), line.data() + line.size(), number);
  line.remove_prefix(std::min(line.find_first_not_of(kDigits), line.size()));
  return number;
}

// What "PID (NAME) STATE …" says behind the name, which may be anything. Empty: there is no such process.
std::string stat_behind_name(pid_t pid) {
  const std::string text = read(pid, "stat");
  const size_t name_end = text.rfind(") ");
  return name_end == std::string::npos ? std::string() : text.substr(name_end + 2);
}

uint64_t used_ticks(pid_t pid, int most_below) {
  constexpr int kFieldsBefore = 10;  // the state is a letter; -1 and 1 are both a number
  const std::string text = stat_behind_name(pid);
  std::string_view line = text;
  for (int i = 0; i < kFieldsBefore; ++i) take_number(line);
  uint64_t sum = 0;
  for (int i = 0; i < 4; ++i) sum += take_number(line);  // utime, stime, cutime, cstime
  if (most_below == 0) return sum;
  const std::string children = read(pid, ("task/" + std::to_string(pid) + "/children").c_str());
  std::string_view left = children;
  while (const uint64_t child = take_number(left)) sum += used_ticks(static_cast<pid_t>(child), most_below - 1);
  return sum;
}

}  // namespace

bool is_runnable(pid_t child) { return stat_behind_name(child).starts_with('R'); }

uint64_t used_cpu_ns(pid_t child) { return used_ticks(child, kMostBelow) * (1'000'000'000 / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK))); }

}  // namespace cicada
