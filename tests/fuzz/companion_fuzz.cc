// SPDX-License-Identifier: Apache-2.0
// module: symbolize
// Files that an image names, by whoever wrote them: its split units (.dwo, .dwp), what dwz moved out, its debug file. The input is the image, its
// size first (24 bits), and what stands behind is whatever file it asks for.
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/symbols/image_symbols_for_test.h"

namespace {

using namespace cicada;
using namespace cicada::symbolize;

class OneFile final : public CompanionFiles {
 public:
  explicit OneFile(Bytes contents) : contents_(contents) {}
  Result<File> open(Place, const std::string& name) override {
    if (++asked_ > 64) return make_error(ErrorKind::kNotFound, "{}: asked too often", name);
    File file;
    file.fd.reset(::memfd_create("companion", MFD_CLOEXEC));
    if (!file.fd || ::write(file.fd.get(), contents_.data(), contents_.size()) != static_cast<ssize_t>(contents_.size())) return errno_error(errno, "memfd");
    file.path = name;
    return file;
  }

 private:
  Bytes contents_;
  int asked_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const Bytes all(data + 3, size - 3);
  const size_t image_bytes = std::min<size_t>(all.size(), data[0] | data[1] << 8 | data[2] << 16);
  auto elf = elf::ElfFile::parse_copy(all.first(image_bytes), "/fuzz/image");
  if (!elf) return 0;
  SymbolizeOptions options;
  options.debug_dirs = {"/debug"};
  const auto symbols = ImageSymbols::open(*std::move(elf), "/fuzz/image", std::make_shared<OneFile>(all.subspan(image_bytes)), options);
  std::vector<LinkAddr> addresses;
  for (uint64_t address = 0x1000; address < 0x1400; address += 0x10) addresses.push_back(LinkAddr(address));
  (void)name_checked(*symbols, addresses);
  return 0;
}
