// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

namespace cicada::elf {

// A table as Go 1.18 or 1.20 writes it, of functions that follow each other.
class GoTableBuilder {
 public:
  static constexpr uint64_t kText = 0x401000;
  explicit GoTableBuilder(uint32_t magic) : magic_(magic) {}
  // `steps`: the pc table's bytes.
  void add(uint32_t size, std::vector<uint8_t> steps, uint8_t flags = 0, const char* name = "main.f") {
    functions_.push_back({size, static_cast<uint32_t>(names_.size()), static_cast<uint32_t>(pc_tables_.size()), flags});
    names_.insert(names_.end(), name, name + std::strlen(name) + 1);
    pc_tables_.insert(pc_tables_.end(), steps.begin(), steps.end());
  }
  std::vector<uint8_t> build() const {
    std::vector<uint8_t> out;
    const auto u32 = [&](uint64_t v) { for (int i = 0; i < 4; ++i) out.push_back(static_cast<uint8_t>(v >> 8 * i)); };
    const auto u64 = [&](uint64_t v) { u32(v & 0xffffffff), u32(v >> 32); };
    const uint64_t names = 72, tables = names + names_.size(), functions = tables + pc_tables_.size();
    const uint32_t head = static_cast<uint32_t>(8 * functions_.size() + 4);
    u32(magic_);
    out.insert(out.end(), {0, 0, 1, 8});
    for (const uint64_t v : {uint64_t{functions_.size()}, uint64_t{1}, kText, names, uint64_t{0}, uint64_t{0}, tables, functions}) u64(v);
    out.insert(out.end(), names_.begin(), names_.end());
    out.insert(out.end(), pc_tables_.begin(), pc_tables_.end());
    uint32_t entry = 0, at = head;
    for (const Function& f : functions_) {
      u32(entry), u32(at);
      entry += f.size;
      at += 48;
    }
    u32(entry);
    entry = 0;
    for (const Function& f : functions_) {
      const size_t begin = out.size();
      u32(entry), u32(f.name), u32(0), u32(0), u32(f.steps), u32(0), u32(0), u32(0), u32(0);
      if (magic_ == 0xfffffff1) u32(0);  // first line
      out.push_back(0);
      out.push_back(f.flags);
      out.resize(begin + 48);
      entry += f.size;
    }
    return out;
  }

 private:
  struct Function {
    uint32_t size, name, steps;
    uint8_t flags;
  };
  uint32_t magic_;
  std::vector<Function> functions_;
  std::vector<uint8_t> names_, pc_tables_{0};
};

}  // namespace cicada::elf
