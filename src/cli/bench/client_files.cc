// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/client_files.h"

#include <algorithm>
#include <filesystem>

#include "base/file_mapping.h"
#include "process/procfs/process_files.h"

namespace cicada::cli {
namespace {

constexpr auto kAnswerTimeout = std::chrono::seconds(2);
constexpr size_t kMaxResults = 2000, kMaxEnvironments = 100;  // files: clients of one command mostly run with the same
constexpr size_t kMaxBytes = 64 << 20, kMaxWarnings = 5;

class Reader {
 public:
  Reader(std::string directory, const InvokingUser& user) : directory_(std::move(directory)), rights_{user.uid(), user.gid(), user.groups()} {}

  // `take` gets the bytes and the path of each file of this kind.
  template <typename Take>
  void read(const std::string& below, std::string_view prefix, size_t most, Take take) {
    auto names = process::ProcessFiles::list_as_user(children_, rights_, directory_ + below);
    if (!names) return names.error().kind() == ErrorKind::kNotFound ? void() : warn(names.error());
    std::erase_if(*names, [&](const std::string& name) { return !name.starts_with(prefix) || !name.ends_with(".json"); });
    std::sort(names->begin(), names->end());
    if (names->size() > most) warn(make_error(ErrorKind::kLimit, "{}{}: {} files of clients, of which {} are read", directory_, below, names->size(), most));
    names->resize(std::min(names->size(), most));
    for (const std::string& name : *names)
      if (const Result<void> taken = read_file(fmt::format("{}{}/{}", directory_, below, name), take); !taken) warn(taken.error());
  }
  std::vector<std::string> warnings;

 private:
  template <typename Take>
  Result<void> read_file(const std::string& path, Take take) {
    const auto file = TRY(process::ProcessFiles::open_as_user(children_, rights_, path));
    const FileMapping contents = TRY(FileMapping::map(file.fd.get(), path));
    if (contents.bytes().size() > left_) return make_error(ErrorKind::kLimit, "{}: clients wrote more than {} MB; the rest is not read", path, kMaxBytes >> 20);
    left_ -= contents.bytes().size();
    return take(contents.bytes(), path);
  }
  void warn(const Error& error) {
    if (warnings.size() < kMaxWarnings) warnings.push_back(error.message());
  }

  const std::string directory_;
  const process::UserRights rights_;
  DisposableChildren children_{kAnswerTimeout};
  size_t left_ = kMaxBytes;
};

}  // namespace

ClientFiles read_client_files(const std::string& directory, const InvokingUser& user) {
  std::error_code error;
  Reader reader(std::filesystem::absolute(directory, error), user);
  ClientFiles out;
  reader.read("/results", "", kMaxResults, [&](Bytes bytes, const std::string& path) -> Result<void> {
    auto parsed = TRY(benchmark::parse_client_results(bytes, path));
    out.benchmarks.insert(out.benchmarks.end(), std::make_move_iterator(parsed.begin()), std::make_move_iterator(parsed.end()));
    return {};
  });
  reader.read("", "environment-", kMaxEnvironments, [&](Bytes bytes, const std::string& path) -> Result<void> {
    auto parsed = TRY(benchmark::parse_client_environment(bytes, path));
    out.environment.software.merge(parsed.software);
    out.environment.libraries.merge(parsed.libraries);
    return {};
  });
  out.warnings = std::move(reader.warnings);
  return out;
}

}  // namespace cicada::cli
