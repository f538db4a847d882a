// SPDX-License-Identifier: Apache-2.0
#include "symbolize/files/companion_files.h"

#include <filesystem>

#include "base/diagnostics.h"
#include "symbolize/files/debuginfod_client.h"

namespace cicada::symbolize {
namespace {

class CompanionsInRoots final : public CompanionFiles {
 public:
  CompanionsInRoots(FileRoot root, std::shared_ptr<DebuginfodClient> debuginfod, std::stop_token stop)
      : root_(std::move(root)), debuginfod_(std::move(debuginfod)), stop_(std::move(stop)) {}

  Result<File> open(Place place, const std::string& name) override {
    if (place == Place::kServer) {
      if (debuginfod_ == nullptr) return make_error(ErrorKind::kNotFound, "{}: no server is asked", name);
      Result<UniqueFd> fetched = debuginfod_->find_debug_file(name, stop_);
      if (fetched) return File{std::move(*fetched), {}};
      const ErrorKind kind = fetched.error().kind();
      if (kind != ErrorKind::kUnsupported && kind != ErrorKind::kLimit) return fetched.error();
      diagnostics().warn("debuginfod", "{}", fetched.error().message());  // it would be the same for each image
      return make_error(ErrorKind::kNotFound, "{}: not asked for", name);
    }
    if (place == Place::kHost && root_.is_ours()) return make_error(ErrorKind::kNotFound, "{}: looked for already", name);
    File file{TRY((place == Place::kImage ? root_ : FileRoot()).open(name)), name};
    std::error_code error;
    const std::filesystem::path real = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", file.fd.get()), error);
    if (!error) file.path = real.string();
    return file;
  }

 private:
  FileRoot root_;
  std::shared_ptr<DebuginfodClient> debuginfod_;
  std::stop_token stop_;
};

}  // namespace

std::shared_ptr<DebuginfodClient> debuginfod_of(const SymbolizeOptions& options) {
  return options.debuginfod ? std::make_shared<DebuginfodClient>(std::chrono::seconds(options.debuginfod_seconds)) : nullptr;
}

std::shared_ptr<CompanionFiles> companions_in(FileRoot root, std::shared_ptr<DebuginfodClient> debuginfod, std::stop_token stop) {
  return std::make_shared<CompanionsInRoots>(std::move(root), std::move(debuginfod), std::move(stop));
}

Result<CompanionElf> open_companion(CompanionFiles& companions, CompanionFiles::Place place, const std::string& name) {
  CompanionFiles::File file = TRY(companions.open(place, name));
  FileMapping mapping = TRY(FileMapping::map(file.fd.get(), name));
  return CompanionElf{TRY(elf::ElfFile::parse(std::move(mapping), name)), std::move(file.path)};
}

}  // namespace cicada::symbolize
