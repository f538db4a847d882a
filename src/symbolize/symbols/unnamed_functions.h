// SPDX-License-Identifier: Apache-2.0
// Where functions begin that no symbol names: the unwind tables of a stripped image still have an entry for each, and in code that they leave out, the instructions tell.
// Samples of one function are then one line of a profile ("libc.so.6+0x155900"), not one a sampled instruction; nobody else's name is lent to it. Two have a name all the
// same: where a program starts, and its main().
// Borrows the image. Owns its lists. Threads: one; the caller locks.
#pragma once
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "code/pieces.h"
#include "code/program_start.h"
#include "elf/elf_file.h"

namespace cicada::symbolize {

class UnnamedFunctions {
 public:
  struct Function {
    LinkAddr begin;
    std::string_view name;  // empty, or static
  };
  struct NamedFunction {
    Range<LinkAddr> code;
    std::string_view name;
  };

  explicit UnnamedFunctions(const elf::ElfFile& elf) : elf_(elf), start_(code::find_program_start(elf)) {}
  // The function that contains the address. The first question reads the unwind tables; the first about code that they leave out follows the image's instructions:
  // all, which takes half a second at most, or of more than 32 MiB those of a piece. What a piece has does not depend on what was asked before; but once 16 MiB have been
  // followed, which takes a second, nothing is found in other pieces.
  std::optional<Function> find(LinkAddr address);
  // _start and main, as far as unwind tables tell where they end.
  std::vector<NamedFunction> named();

  size_t memory_bytes() const;

 private:
  struct Code {
    Range<LinkAddr> code;
    LinkAddr function;
  };
  // The code that tables leave out, or, where that is as good as all and not too much, all code.
  struct Unnamed {
    LinkAddr base;
    bool compiled = false, at_once = true;
    code::Pieces pieces;
  };
  static constexpr uint64_t kMaxAtOnceBytes = 32 << 20, kMaxInPiecesBytes = 16 << 20;
  void read_tables();
  Unnamed find_unnamed() const;
  const std::vector<Code>& follow(LinkAddr address);
  std::vector<Code> follow_code(const Unnamed& unnamed, const std::vector<Range<LinkAddr>>& code, Range<LinkAddr> wanted) const;
  std::string_view name_of(LinkAddr begin) const;

  const elf::ElfFile& elf_;
  std::optional<code::ProgramStart> start_;
  std::optional<std::vector<Range<LinkAddr>>> tables_;  // by begin
  std::vector<Range<LinkAddr>> gaps_;                   // in code, which tables_ leaves out
  std::optional<Unnamed> unnamed_;
  std::map<uint64_t, std::vector<Code>> followed_;      // by piece; by begin
  uint64_t followed_bytes_ = 0;                         // with what is around pieces
};

}  // namespace cicada::symbolize
