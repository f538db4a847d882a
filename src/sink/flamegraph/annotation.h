// SPDX-License-Identifier: Apache-2.0
// The code of a function with the samples that are in it. Texts are strangers'.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cicada::sink {

struct AnnotatedLine {
  uint64_t at = 0;  // line number, or link address of an instruction
  std::string text;
  uint64_t self = 0, total = 0;  // values in the line itself; with what it calls, each sample once a line
  bool after_gap = false;        // lines without samples are left out above it
};

struct AnnotatedPart {
  bool instructions = false;
  std::string where;  // the file; of instructions: the function whose code it is, and its image
  std::vector<AnnotatedLine> lines;  // ascending
};

struct Annotation {
  std::string function;
  std::vector<AnnotatedPart> parts;
  std::string missing;  // why there is no source, or no instructions
};

}  // namespace cicada::sink
