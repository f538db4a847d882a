// SPDX-License-Identifier: Apache-2.0
// A command's peak memory, as the kernel tells it, begins with that of the process that execs it: a copy of cicada's. So the copy is given back first.
#pragma once
#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

namespace cicada::cli {

// What a child needs for exec, in memory of its own, which stays when the rest is given back.
class ExecBlock {
 public:
  ExecBlock(const std::string& program, const std::vector<std::string>& argv, const std::vector<std::string>& environment, const std::vector<gid_t>& groups);
  ~ExecBlock();
  ExecBlock(const ExecBlock&) = delete;
  ExecBlock& operator=(const ExecBlock&) = delete;

  const char* program() const { return program_; }
  char* const* argv() const { return argv_; }
  char* const* shell_argv() const { return shell_argv_; }  // sh, the program, its arguments
  char* const* environment() const { return environment_; }
  std::span<const gid_t> groups() const { return groups_; }

 private:
  char* add(const std::string& text);
  template <typename T>
  T* take(size_t count);
  size_t size_ = 0, used_ = 0;
  char* memory_ = nullptr;
  char* program_ = nullptr;
  char **argv_ = nullptr, **shell_argv_ = nullptr, **environment_ = nullptr;
  std::span<const gid_t> groups_;
};

// In a forked child that only makes system calls from here on: its heap goes, and with it the mark of how large it once was.
void give_back_inherited_memory(const ExecBlock& kept);

}  // namespace cicada::cli
