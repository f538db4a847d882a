// SPDX-License-Identifier: Apache-2.0
// Port: from "this process maps that file here" to an image id and a load bias, without ever waiting for a file system.
// Implemented by ImageRegistry; tests bring their own.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/process_key.h"
#include "process/images/file_identity.h"

namespace cicada::process {

// A file mapped executable, and where to get at it. `path` as the process sees it ("[vdso]"); borrowed. Anonymous: JIT code.
struct MappedFile {
  FileIdentity file;
  Pid pid = 0;
  Range<RuntimeAddr> range;
  FileOffset offset;
  std::string_view path;
  bool deleted = false;
};

enum class BindingState : uint8_t {
  kPending,  // being opened on a worker; ask again when `image` is ready
  kImage,    // image and bias are known
  kJit,      // not an ELF image this program reads: JIT code kept in a file, a device, 32-bit code
  kUnknown,  // could not be opened (reported once)
};

struct ImageBinding {
  BindingState state = BindingState::kUnknown;
  uint32_t image = 0;  // kPending, kImage
  uint64_t bias = 0;   // kImage: link address = runtime address - bias
  bool operator==(const ImageBinding&) const = default;
};

class ImageSource {
 public:
  virtual ~ImageSource() = default;
  // Never blocks. Threads: the tracker's.
  virtual ImageBinding resolve(const MappedFile& mapped) = 0;
  // The same for a further mapping of, or a later question about, an image that resolve() returned.
  virtual ImageBinding re_resolve(uint32_t image, Range<RuntimeAddr> range, FileOffset offset) = 0;
  // Images that stopped being pending since the last call. Threads: the tracker's.
  virtual std::vector<uint32_t> take_ready() = 0;
  // Readable when take_ready() has something: an eventfd; −1: nobody needs to be woken.
  virtual int ready_fd() const { return -1; }
};

}  // namespace cicada::process
