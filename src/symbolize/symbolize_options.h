// SPDX-License-Identifier: Apache-2.0
// What names should look like, and where they may come from.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "names/demangle.h"

namespace cicada::symbolize {

class ImageNamers;
class KernelNames;

using names::Demangle;

struct SymbolizeOptions {
  bool inlines = true;
  bool lines = true;
  Demangle demangle = Demangle::kFull;
  bool places = true;                  // a function without a name is called by where it begins: "libfoo.so+0x1230"
  bool fold_clones = true;             // "f.cold", "f.part.0", "f.constprop.0" shown as "f"
  bool debuginfod = false;             // fetch missing debug files, from where DEBUGINFOD_URLS says; when the recording has ended
  unsigned debuginfod_seconds = 30;    // for all of them together
  uint32_t user = 0;                   // whose files are read without a deadline of their own (symbolizer.h)
  unsigned threads = 0;                // 0: one per CPU, at most 4
  std::vector<std::string> debug_dirs = {"/usr/lib/debug"};
  std::shared_ptr<ImageNamers> image_namers = {};  // image_namer.h; null: this process reads the files
  KernelNames* kernel_names = nullptr;  // borrowed (kernel_names.h); null: /proc/kallsyms
};

}  // namespace cicada::symbolize
